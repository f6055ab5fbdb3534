"""`python -m helpers.exercises` lists the exercises, `python -m helpers.exercises NAME` prints one's notebook cells."""

import sys

from helpers.exercises import EXERCISES, get


def main(names: list[str]) -> int:
    """Print what was asked for; 2 if there is no such exercise."""
    if not names:
        for exercise in EXERCISES:
            print(f"{exercise.notebook}  {exercise.name:24} {'●' * exercise.difficulty:4} {exercise.title}")
        return 0
    try:
        for name in names:
            print("\n\n# %%\n".join(get(name).cells()))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
