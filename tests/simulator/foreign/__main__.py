"""`python -m tests.simulator.foreign` runs every row at both levels and counts what it shows.

Rows that other tests hold are counted as right, and named apart: run those tests for them. With names, runs only those.
"""

import collections
import os
import sys

os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")

from tests.simulator.foreign import sanitized, table  # noqa: E402 (the backend is set above)


def main() -> None:
    wanted = sys.argv[1:] or list(table.ROWS)
    counts: collections.Counter[str] = collections.Counter()
    for name in wanted:
        row = table.ROWS[name]
        for level in table.LEVELS:
            answer = table.answer(row, level)
            counts[answer] += 1
            if answer not in ("right", "message") and not answer.startswith("held"):
                sys.stdout.write(f"{name} at {level}: {answer}\n")
    tell(f"{len(wanted)} kernels", counts)
    if sys.argv[1:]:
        return
    counts = collections.Counter({"held by other tests": len(sanitized.HELD) * len(table.LEVELS)})
    for name, program in sanitized.PROGRAMS.items():
        for level in table.LEVELS:
            answer = sanitized.answer(program, level)
            counts[answer] += 1
            if answer not in sanitized.AS_EXPECTED:
                sys.stdout.write(f"{name} at {level}: {answer}\n")
    tell(f"{len(sanitized.PROGRAMS) + len(sanitized.HELD)} programs for the sanitizer", counts)


def tell(what: str, counts: collections.Counter[str]) -> None:
    shown = ", ".join(f"{count} {answer}" for answer, count in counts.most_common())
    sys.stdout.write(f"{what} at {len(table.LEVELS)} levels, {sum(counts.values())} cells: {shown}\n")


if __name__ == "__main__":
    main()
