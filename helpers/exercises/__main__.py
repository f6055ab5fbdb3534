"""The exercises at the command line.

python -m helpers.exercises                      lists them
python -m helpers.exercises NAME …               prints their notebook cells
python -m helpers.exercises --contract [NAME …]  submits all known solutions, and prints how many are diagnosed
python -m helpers.exercises --record             times the solutions of the blanks on a GPU, for the learner's ladder
"""

import argparse
import os
import sys

from helpers.exercises import EXERCISES, get, settings
from helpers.exercises.framework import contract, progress, rungs


def main(arguments: list[str]) -> int:
    """Print what was asked for; 2 if there is no such exercise."""
    parser = argparse.ArgumentParser(prog="python -m helpers.exercises", description=__doc__.split("\n")[0])
    parser.add_argument("--contract", action="store_true", help="submit all known solutions, and count the diagnoses")
    parser.add_argument("--record", action="store_true", help="time the solutions of the blanks on a GPU")
    parser.add_argument("names", nargs="*", help="exercises; default: all")
    options = parser.parse_args(arguments)
    try:
        chosen = [get(name) for name in options.names]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.record:
        print(rungs.record())
        print(settings.record())
        return 0
    if options.contract:
        os.environ[progress.ENVIRONMENT_VARIABLE] = "off"
        for line in contract.table(chosen or EXERCISES):
            print(line, flush=True)
        return 0
    for exercise in chosen:
        print("\n\n# %%\n".join(exercise.cells()))
    if not chosen:
        for exercise in EXERCISES:
            print(f"{exercise.notebook}  {exercise.name:24} {'●' * exercise.difficulty:4} {exercise.title}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
