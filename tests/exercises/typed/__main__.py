"""Check every typed answer, and count how they are answered."""

import os
import sys
from collections import Counter

from helpers.exercises.framework import kept, progress
from tests.exercises.typed import ACCEPTED, CAUSE, FALSE, REFUSED, right, slips


def main(names: list[str]) -> int:
    """All answers, or those to some exercises. Returns 1 if a slip is answered falsely or a right kernel refused."""
    os.environ[kept.ENVIRONMENT_VARIABLE] = os.environ[progress.ENVIRONMENT_VARIABLE] = "off"
    counts: Counter[str] = Counter()
    for what, answers, good in (("slips", slips(), CAUSE), ("right kernels", right(), ACCEPTED)):
        kinds: Counter[str] = Counter()
        for typed in sorted(answers, key=lambda answer: answer.exercise):  # an exercise's kernels are compiled once
            if names and typed.exercise not in names:
                continue
            verdict = typed.check()
            kinds[kind := typed.kind(verdict)] += 1
            if kind != good:
                print(f"--- {kind}: {typed}\n{verdict.sentence}\n", flush=True)
        print(f"{kinds.total()} {what}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}.", flush=True)
        counts += kinds
    return int(counts[FALSE] + counts[REFUSED] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
