"""What an NVIDIA GPU answers to the forms of `instruction_forms`, bit for bit.

The machine code is compiled where the simulator is, and that very CUBIN runs on the GPU:

    python -m tests.gpusim.goldens.instructions prepare FOLDER      anywhere: compile, write CUBINs
    python -m tests.gpusim.goldens.instructions record FOLDER       on a machine with a GPU and CuPy: the golden
    python -m tests.gpusim.goldens.instructions compare [RESULTS]   anywhere: on which forms do the two differ?

The golden holds four bytes of SHA-256 for each warp of each form. `record` also writes all results beside it, for
`compare` to print operands on which they differ; they are too large to keep.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from pathlib import Path

import numpy as np

from tests.gpusim import instruction_forms
from tests.gpusim.goldens.provenance import provenance
from tests.gpusim.instruction_forms import LANES, THREADS, Form, Module

ARCH = "sm_90"
GOLDEN = Path(__file__).parent / f"instructions_{ARCH}.json"
DIGEST = 4  # bytes
WARP = 32


def prepare(folder: Path) -> None:
    """Compile every kernel."""
    from gpusim import compiler

    folder.mkdir(parents=True, exist_ok=True)
    for number, module in enumerate(instruction_forms.modules()):
        compiled = compiler.compile(module.source, "forms", arch=ARCH)
        (folder / f"{number}.cubin").write_bytes(compiled.cubin)
        (folder / "nvrtc").write_text(".".join(map(str, compiled.compiler_version)))


def digests(results: np.ndarray) -> list[bytes]:
    """One for each warp."""
    return [hashlib.sha256(row.tobytes()).digest()[:DIGEST] for row in results.reshape(-1, WARP)]


def record(folder: Path) -> None:
    """Run every form; write the golden and `results.npz` into the folder."""
    import cupy

    results = {}
    for number, module in enumerate(instruction_forms.modules()):
        kernel = cupy.RawModule(path=str(folder / f"{number}.cubin")).get_function("forms")
        written = cupy.asarray(module.room)
        kernel((LANES // THREADS,), (THREADS,), (cupy.asarray(module.operands), written))
        results |= module.results(cupy.asnumpy(written))
    rows = {name: base64.b64encode(b"".join(digests(result))).decode() for name, result in results.items()}
    made_by = (folder / "nvrtc").read_text()
    origin = provenance(ARCH, "python -m tests.gpusim.goldens.instructions record", nvrtc=made_by)
    np.savez_compressed(folder / "results.npz", **{f"f{k}": value for k, value in enumerate(results.values())})
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    text = f'{{"provenance": {json.dumps(origin, indent=1)},\n"forms": {{\n{lines}\n}}}}\n'
    (folder / GOLDEN.name).write_text(text)


def golden() -> dict[str, list[bytes]]:
    """By the name of a form: what the GPU answered, one digest for each warp."""
    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))["forms"]
    data = {name: base64.b64decode(row) for name, row in rows.items()}
    return {name: [row[k : k + DIGEST] for k in range(0, len(row), DIGEST)] for name, row in data.items()}


def simulated(module: Module, level: str = "sass") -> dict[str, np.ndarray | str]:
    """By the name of a form: what the simulator answers, or why it cannot."""
    import gpusim
    from gpusim import errors

    kernel, written = gpusim.RawModule(code=module.source).get_function("forms"), module.room
    try:
        with gpusim.record(level=level, checks="off"):
            kernel((LANES // THREADS,), (THREADS,), (module.operands, written))
    except errors.UnsupportedInstruction as reason:
        if len(module.forms) == 1:
            return {module.forms[0].name: str(reason)}
        results: dict[str, np.ndarray | str] = {}
        for form in module.forms:
            results |= simulated(Module((form,)), level)
        return results
    return module.results(written)


def compare(results: Path | None, level: str) -> None:
    """Print the forms that differ; with the GPU's results the first operands on which they do."""
    known = golden() if results is None else {}
    full = {} if results is None else dict(zip(_names(), np.load(results).values(), strict=True))
    equal = 0
    for module in instruction_forms.modules():
        for form, (name, got) in zip(module.forms, simulated(module, level).items(), strict=True):
            if isinstance(got, str):
                print(f"?      {name}: {got.splitlines()[0][:160]}", flush=True)
            elif (full and np.array_equal(got, full[name])) or (not full and digests(got) == known[name]):
                equal += 1
            else:
                print(f"DIFFER {name}{_first(form, got, full)}", flush=True)
    print(f"{equal} forms are equal")


def _names() -> list[str]:
    return [form.name for form in instruction_forms.all_forms()]


def _first(form: Form, got: np.ndarray, full: dict[str, np.ndarray]) -> str:
    if not full:
        return ""
    lanes = np.flatnonzero(got != full[form.name])
    columns, digits = instruction_forms.operands(form), 2 * got.dtype.itemsize
    shown = (
        f"({', '.join(f'{column[lane]:0{2 * column.dtype.itemsize}x}' for column in columns)}) -> "
        f"{got[lane]:0{digits}x}, GPU {full[form.name][lane]:0{digits}x}"
        for lane in lanes[:3]
    )
    return f": {len(lanes)} of {LANES}; {'; '.join(shown)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record", "compare"))
    parser.add_argument("path", type=Path, nargs="?", help="a folder; for compare: results.npz of the GPU")
    parser.add_argument("--level", default="sass", choices=("sass", "ptx"))
    arguments = parser.parse_args()
    if arguments.mode == "prepare":
        prepare(arguments.path)
    elif arguments.mode == "record":
        record(arguments.path)
    else:
        compare(arguments.path, arguments.level)


if __name__ == "__main__":
    main()
