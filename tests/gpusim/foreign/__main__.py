"""`python -m tests.gpusim.foreign` runs every row at both levels and counts what it shows.

Rows that other tests hold are counted as right, and named apart: run those tests for them. With names, runs only those;
with `--arch sm_120` what that architecture does of them, as machine code, where the compiler has it, and as PTX.
"""

import argparse
import collections
import os
import sys

os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")

from gpusim import devices  # noqa: E402 (the backend is set above)
from tests.gpusim import architectures  # noqa: E402
from tests.gpusim.foreign import sanitized, table  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Count what kernels from elsewhere show in the simulator.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", default=devices.DEFAULT.arch, choices=sorted(devices.LIMITS))
    given = parser.parse_args()
    levels = architectures.levels_of(given.arch)
    as_expected = {"right", "message", "held by other tests", "refused by the compiler", *sanitized.AS_EXPECTED}
    for what, rows, answer in (
        ("kernels", table.ROWS, table.answer),
        ("programs for the sanitizer", sanitized.PROGRAMS, sanitized.answer),
    ):
        counts: collections.Counter[str] = collections.Counter()
        for name in given.names or rows:
            for level in levels if name in rows else ():
                shown = answer(rows[name], level, given.arch)
                counts[shown if shown in as_expected else "wrong"] += 1
                if shown not in as_expected:
                    sys.stdout.write(f"{name} at {level}: {shown}\n")
                    sys.stdout.flush()
        if not given.names and what != "kernels":
            counts["held by other tests"] += len(sanitized.HELD) * len(levels)
        if counts:
            summary = ", ".join(f"{count} {shown}" for shown, count in counts.most_common())
            sys.stdout.write(f"{what} for {given.arch}, {len(levels)} levels, {counts.total()} cells: {summary}\n")


if __name__ == "__main__":
    main()
