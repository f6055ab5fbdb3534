"""Compiles the programs of `helpers/native` for every system: `python -m helpers.authoring.native [program …]`.

Zig brings a C compiler and what it needs to build for each system on any of them. The same source gives the same
libraries, bit for bit, wherever they are built. Run it again when a source changes: a test says so.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from helpers.native.sources import DIGEST, FLAGS, HOME, INCLUDE, PROGRAMS, TARGETS, Target, archive, digest_of_source
from helpers.native.sources import sources as sources_of

MOST_BYTES = 5 * 2**18  # of all libraries of a program, so that the project stays quick to clone


def build(program: str, target: Target) -> bytes:
    """The library of a program for one system. CalledProcessError, after what the compiler says, if it refuses."""
    sources = [path.relative_to(HOME).as_posix() for path in sources_of(program)]  # no path of this machine gets in
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{program}.library"
        command = [
            sys.executable, "-m", "ziglang", "cc", f"--target={target.zig}", f"-mcpu={target.cpu}", *FLAGS,
            f"-I{INCLUDE.relative_to(HOME)}", *sources, "-o", str(library), "-g0", "-Werror",
            *([f"-Wl,-install_name,{program}"] if "macos" in target.zig else [f"-Wl,-soname,{program}"]
              if "linux" in target.zig else []),
        ]  # fmt: skip
        subprocess.run(command, cwd=HOME, check=True)
        return library.read_bytes()


def write(program: str, libraries: dict[str, bytes]) -> None:
    """Put the libraries, by the names of their targets, into the program's archive."""
    with zipfile.ZipFile(archive(program), "w", zipfile.ZIP_LZMA) as members:
        for name, data in {DIGEST: f"{digest_of_source(program)}\n".encode(), **libraries}.items():
            described = zipfile.ZipInfo(name)
            described.compress_type = zipfile.ZIP_LZMA
            members.writestr(described, data)


def main() -> None:
    for program in sys.argv[1:] or PROGRAMS:
        libraries = {target.member: build(program, target) for target in TARGETS}
        write(program, libraries)
        sizes = ", ".join(f"{name} {len(data):,}" for name, data in libraries.items())
        sys.stdout.write(f"{archive(program)}: {archive(program).stat().st_size:,} bytes ({sizes})\n")


if __name__ == "__main__":
    main()
