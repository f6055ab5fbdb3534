"""`python -m helpers.profile kernel.cu "name<32>" --grid 64 64 --block 32 8 --args …`: what limits any kernel.

Each of --args stands for one parameter: a number for a scalar; for a pointer the size of its array, 1048576 or
1024x1024, which is filled with random numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import gpusim
from gpusim import compiler, devices
from gpusim.sentences import say
from helpers import cycles, run
from helpers.profile import Profile, compared, document, profile, text
from helpers.profile.arguments import BadArgument, argument


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    try:
        options.gpu = devices.get(options.gpu).name
        first = _profiled(options.file, options)
        second = _profiled(options.compare, options) if options.compare else None
        if options.html:
            options.html.write_text(document(*filter(None, (first, second))), encoding="utf-8")
    except OSError as error:
        print(f"{error.filename}: {error.strerror}.", file=sys.stderr)
        return 1
    except (*cycles.CANNOT, devices.UnknownDevice, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        profiles = [profile.as_json() for profile in (first, second) if profile is not None]
        say(json.dumps(profiles if second else profiles[0], indent=1))
    else:
        say(text(first) if second is None else compared(first, second, (options.file.name, options.compare.name)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.profile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="CUDA C++")
    parser.add_argument("kernel", help="its name, or a template instantiation")
    parser.add_argument("--grid", type=int, nargs="+", required=True, help="blocks along x, y, z")
    parser.add_argument("--block", type=int, nargs="+", required=True, help="threads along x, y, z")
    parser.add_argument("--args", nargs="*", default=[], help="one for each parameter: a number, or an array's size")
    parser.add_argument("--shared", type=int, default=0, help="bytes of dynamic shared memory of a block")
    parser.add_argument("--gpu", default=devices.DEFAULT.name, help="as its driver calls it")
    parser.add_argument("--warm", action="store_true", help="with a warm L2")
    parser.add_argument("--compare", type=Path, metavar="OTHER.cu", help="the same launch of another file's kernel")
    parser.add_argument("--html", type=Path, help="also write the page there")
    parser.add_argument("--json", action="store_true", help="plain values instead of the page")
    return parser


def _profiled(file: Path, options: argparse.Namespace) -> Profile:
    try:
        source = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadArgument(
            f"{file.name} is not UTF-8: byte {error.start:,} is {error.object[error.start]:#04x}. Save it as UTF-8."
        ) from None
    try:
        kernel = run.simulated(source, options.kernel)
    except compiler.CompileError:
        compiler.compile(source, options.kernel, options=run.OPTIONS, filename=file.name)  # tells it of this file
        raise
    parameters = kernel.compiled.parameters
    if len(parameters) != len(options.args):
        wanted = ", ".join(f"{parameter.type} {parameter.name}" for parameter in parameters)
        raise BadArgument(
            f"{options.kernel} has {len(parameters)} parameters ({wanted}), but --args names {len(options.args)}."
        )
    args = [
        argument(kernel.compiled, parameter, given) for parameter, given in zip(parameters, options.args, strict=True)
    ]
    with gpusim.capture() as caught:
        run.call(kernel, tuple(options.grid), tuple(options.block), args, options.shared)
    return profile(caught[0], options.gpu, cold=not options.warm)


if __name__ == "__main__":
    sys.exit(main())
