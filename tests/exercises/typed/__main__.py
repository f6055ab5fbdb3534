"""Check every typed answer, and count how they are answered."""

import os
import sys
from collections import Counter

from helpers.exercises.framework import kept, progress
from tests.exercises.typed import ACCEPTED, CAUSE, right, slips


def main(names: list[str]) -> int:
    """All answers, or those to some exercises. Returns 1 if one is answered falsely."""
    os.environ[kept.ENVIRONMENT_VARIABLE] = os.environ[progress.ENVIRONMENT_VARIABLE] = "off"
    for what, answers, good in (("slips", slips(), CAUSE), ("right kernels", right(), ACCEPTED)):
        counts: Counter[str] = Counter()
        for one in answers:
            if names and one.exercise not in names:
                continue
            verdict = one.check()
            counts[kind := one.kind(verdict)] += 1
            if kind != good:
                print(f"--- {kind}: {one}\n{verdict.sentence}\n", flush=True)
        print(
            f"{sum(counts.values())} {what}: {', '.join(f'{n} {kind}' for kind, n in counts.most_common())}.",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
