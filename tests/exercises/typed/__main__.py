"""Check every typed answer, and count how they are answered; or show the verdicts on random faulty kernels."""

import argparse
import os
from collections import Counter

from helpers import exercises
from helpers.exercises.framework import kept, progress
from tests.exercises.typed import ACCEPTED, CAUSE, FALSE, KERNELS, REFUSED, right, slips
from tests.exercises.typed.edits import edited


def main(names: list[str]) -> int:
    """All answers, or those to some exercises. Returns 1 if a slip is answered falsely or a right kernel refused."""
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


def show(names: list[str], seed: str, singles: int, pairs: int) -> None:
    """Each solution, then what random edits of it are answered: for a reader who judges the verdicts."""
    for exercise in map(exercises.get, names) if names else KERNELS:
        for number, line in enumerate(exercise.solved.splitlines(), 1):
            print(f"{number:3} {line}")
        for kernel in edited(exercise.name, seed, singles, pairs):
            print(f"--- {exercise.name}\n{kernel.changes}\n{exercise.check(kernel.source).sentence}\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.exercises.typed", description=__doc__)
    parser.add_argument("exercises", nargs="*", help="default: all")
    parser.add_argument("--edited", metavar="SEED", help="show verdicts on solutions with random edits")
    parser.add_argument("--singles", type=int, default=20, help="kernels with one edit (default 20)")
    parser.add_argument("--pairs", type=int, default=8, help="kernels with two edits (default 8)")
    chosen = parser.parse_args()
    os.environ[kept.ENVIRONMENT_VARIABLE] = os.environ[progress.ENVIRONMENT_VARIABLE] = "off"
    if chosen.edited is None:
        raise SystemExit(main(chosen.exercises))
    show(chosen.exercises, chosen.edited, chosen.singles, chosen.pairs)
