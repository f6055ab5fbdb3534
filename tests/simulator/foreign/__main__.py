"""`python -m tests.simulator.foreign` runs every row at both levels and counts what it shows.

Rows that other tests hold are counted as right, and named apart: run those tests for them. With names, runs only those.
"""

import collections
import os
import sys

os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")

from tests.simulator.foreign import table  # noqa: E402 (the backend is set above)


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
    total = sum(counts.values())
    sys.stdout.write(f"{len(wanted)} kernels at {len(table.LEVELS)} levels, {total} cells: ")
    sys.stdout.write(", ".join(f"{count} {answer}" for answer, count in counts.most_common()) + "\n")


if __name__ == "__main__":
    main()
