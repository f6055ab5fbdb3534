"""`python -m helpers.tools.fitting errors`: how far predictions were from measured times.

`… record`: compares them anew. `… stalls`: stall reasons beside Nsight Compute's. `… fit`: constants, fitted anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpusim import devices
from gpusim.sentences import say
from gpusim.timing.machine import NoConstants
from helpers.recordings import NoRecording
from helpers.tools.fitting import errors


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.fitting", description=__doc__)
    parser.add_argument("command", choices=("errors", "record", "stalls", "fit"))
    parser.add_argument("--gpu", default=devices.DEFAULT.name)
    options = parser.parse_args(arguments)
    try:
        if options.command == "errors":
            say(errors.table(options.gpu))
        elif options.command == "record":
            say(errors.record(options.gpu))
        elif options.command == "stalls":
            say(errors.stall_table(options.gpu))
        else:
            constants = errors.fit(options.gpu)
            for gpu in {options.gpu, errors.LEARNT_ON}:
                say(errors.keep({**constants, **errors.tag_banks(gpu)}, gpu))
    except (NoConstants, NoRecording) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
