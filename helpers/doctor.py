"""What works on this machine, what does not, why, and what to do about it.

    python -m helpers.doctor

A notebook shows the same by `doctor.examine()`. Nothing but the standard library is loaded before the first check, so
the doctor can say what is missing where everything is missing; and no check stops the others.
"""

from __future__ import annotations

import html
import importlib.metadata
import platform
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORKS, NOT_HERE, BROKEN = "works", "not here", "broken"
MARKS = {WORKS: "✔", NOT_HERE: "–", BROKEN: "✘"}
COLOURS = {
    WORKS: "#009E73",
    NOT_HERE: "#5F5F5F",
    BROKEN: "#D55E00",
}  # those of helpers.pictures.theme, which may not load
OLDEST_PYTHON = (3, 11)  # as pyproject.toml says, which an older Python cannot read: it has no tomllib
SET_UP = "Run `make lab`, which sets everything up again."

# One element a thread; the last of the two blocks has threads that lie outside, as in every real launch.
PROBE = """
extern "C" __global__ void probe(float *x, int n) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < n) x[index] = 3.0f * x[index] + 1.0f;
}
"""
PROBE_SIZE, PROBE_BLOCK = 100, 64

# Those that kernels from books and from the web include, beside what NVRTC knows by itself.
HEADERS = (
    "cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cooperative_groups.h", "cuda_pipeline.h",
    "cuda/std/array", "cub/cub.cuh",
)  # fmt: skip


class NoCheckout(Exception):
    """The files of the course are not here, only its code; the message says what to do."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    what: "the compiler".  state: WORKS, NOT_HERE (the course goes on without it) or BROKEN.  observation: a sentence.
    advice: what to do, empty where there is nothing to do.
    """

    what: str
    state: str
    observation: str
    advice: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.observation} {self.advice}".strip()


@dataclass(frozen=True)
class Report:
    """All findings, in the order in which they build on each other."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Nothing is broken: every notebook can run."""
        return all(finding.state != BROKEN for finding in self.findings)

    @property
    def summary(self) -> str:
        broken = sum(finding.state == BROKEN for finding in self.findings)
        if broken:
            checks = f"{broken} of {len(self.findings)} checks failed."
            return f"{checks} Begin with the first ✘; the others may follow from it."
        return "Everything that this course needs works here."

    def text(self) -> str:
        """One line a finding, then the summary."""
        width = max(len(finding.what) for finding in self.findings)
        lines = [f"{MARKS[finding.state]} {finding.what:{width}}  {finding.sentence}" for finding in self.findings]
        return "\n".join([*lines, self.summary])

    def html(self) -> str:
        """The same as a table, in the page's own colours but for the marks."""
        cell = "padding: 3px 12px; text-align: left; vertical-align: top;"
        rows = "".join(
            f'<tr><td style="{cell} color: {COLOURS[finding.state]}; font-weight: bold;">{MARKS[finding.state]}</td>'
            f'<td style="{cell} white-space: nowrap;">{html.escape(finding.what)}</td>'
            f'<td style="{cell}">{html.escape(finding.sentence)}</td></tr>'
            for finding in self.findings
        )
        return f'<table><tbody>{rows}</tbody></table><div style="padding: 4px 0;">{html.escape(self.summary)}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def examine() -> Report:
    """Look at everything that a notebook needs. Never raises; takes a second or two."""
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("Python", _python),
        ("packages", _packages),
        ("widgets", _widgets),
        ("compiler", _compiler),
        ("headers", _headers),
        ("disassembler", _disassembler),
        ("simulator", _simulator),
        ("GPU", _gpu),
        ("recordings", _recordings),
        ("cache", _cache),
    )
    return Report(tuple(_safely(what, check) for what, check in checks))


def _safely(what: str, check: Callable[[], Finding]) -> Finding:
    """The check's finding; an exception becomes a finding, in its own words."""
    try:
        return check()
    except ImportError as error:
        return Finding(what, BROKEN, f"{error}.", SET_UP)
    except Exception as error:
        first_line = (str(error).strip().splitlines() or ["no message"])[0]
        if isinstance(error, NoCheckout) or type(error).__module__.startswith(
            "helpers."
        ):  # a sentence already, which says what to do
            return Finding(what, BROKEN, first_line)
        return Finding(what, BROKEN, f"{type(error).__name__}: {first_line.rstrip('.')}.", SET_UP)


def _project() -> dict[str, Any]:
    """The table `project` of pyproject.toml. NoCheckout where the files of the course are not beside this package."""
    import tomllib

    try:
        return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except FileNotFoundError:
        raise NoCheckout(
            f"{ROOT} holds no pyproject.toml, so this is a copy of the code and not the course. "
            "Get the whole course, as README.md says, and run `make lab` in its folder."
        ) from None


def _python() -> Finding:
    version = f"{platform.python_version()} on {platform.system()}, {platform.machine()}."
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding(
            "Python", BROKEN, version, f"The course needs Python {oldest} or newer; `make lab` looks for one."
        )
    return Finding("Python", WORKS, version)


def _needed_packages() -> list[str]:
    """The names in `dependencies` of pyproject.toml."""
    return [re.split(r"[ ;<>=!~\[]", requirement, maxsplit=1)[0] for requirement in _project()["dependencies"]]


def _pins() -> dict[str, set[str]]:
    """Package → versions in constraints.txt (several where they differ by platform or Python)."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        pin = re.match(r"([A-Za-z0-9_.-]+)==([^\s;]+)", line)
        if pin:
            pins.setdefault(pin[1].lower(), set()).add(pin[2])
    return pins


def _packages() -> Finding:
    needed, pins, missing, other = _needed_packages(), _pins(), [], []
    for name in needed:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
            continue
        pinned = pins.get(name.lower(), {version})
        if version not in pinned:
            other.append(f"{name} {version} (tested with {' or '.join(sorted(pinned))})")
    count = len(needed)
    if missing:
        sentence = f"{len(missing)} of {count} are not installed: {', '.join(missing)}."
        return Finding(
            "packages", BROKEN, sentence, f"{SET_UP} Or choose the kernel of the course's .venv in the menu."
        )
    if other:
        return Finding("packages", WORKS, f"all {count} are here, in other versions than tested: {', '.join(other)}.")
    return Finding("packages", WORKS, f"all {count} are here, in the versions that the course is tested with.")


def _widgets() -> Finding:
    import ipywidgets

    try:
        importlib.metadata.version("jupyterlab_widgets")
    except importlib.metadata.PackageNotFoundError:
        sentence = (
            f"ipywidgets {ipywidgets.__version__} is here, but not its half in JupyterLab: sliders would show as text."
        )
        return Finding("widgets", BROKEN, sentence, "Install jupyterlab_widgets beside JupyterLab and reload the page.")
    return Finding("widgets", WORKS, f"ipywidgets {ipywidgets.__version__}.")


def _compiler() -> Finding:
    from gpusim import compiler
    from gpusim.compiler import nvrtc

    kernel = compiler.compile(PROBE, "probe")
    version = ".".join(map(str, nvrtc.version()))
    oldest, *_, newest = compiler.architectures()
    if not (kernel.ptx and kernel.cubin):
        return Finding("compiler", BROKEN, f"NVRTC {version} compiled a small kernel to nothing.", SET_UP)
    return Finding("compiler", WORKS, f"NVRTC {version} compiles CUDA C++ for {oldest} to {newest}.")


def _headers() -> Finding:
    missing = [] if _compiles_with(*HEADERS) else [header for header in HEADERS if not _compiles_with(header)]
    if missing:
        sentence = f"Kernels that include {' or '.join(f'<{header}>' for header in missing)} cannot be compiled."
        return Finding("headers", NOT_HERE, sentence, SET_UP)
    return Finding("headers", WORKS, f"Kernels can include {', '.join(f'<{header}>' for header in HEADERS)}.")


def _compiles_with(*headers: str) -> bool:
    from gpusim import compiler

    try:
        compiler.compile("".join(f"#include <{header}>\n" for header in headers) + PROBE, "probe")
    except compiler.CompileError:
        return False
    return True


def _disassembler() -> Finding:
    from gpusim import compiler

    try:
        instructions = compiler.disassemble(compiler.compile(PROBE, "probe")).count("/*0")
    except compiler.NvdisasmMissing as error:
        return Finding("disassembler", NOT_HERE, str(error))
    return Finding("disassembler", WORKS, f"nvdisasm shows the {instructions} machine instructions of a small kernel.")


def _expected() -> tuple[Any, Any]:
    """The probe's input and the output that it must have."""
    import numpy as np

    before = np.arange(PROBE_SIZE, dtype=np.float32)
    return before, 3 * before + 1


def _simulator() -> Finding:
    import numpy as np

    import gpusim

    array, expected = _expected()
    blocks = -(-PROBE_SIZE // PROBE_BLOCK)
    gpusim.RawModule(code=PROBE).get_function("probe")((blocks,), (PROBE_BLOCK,), (array, np.int32(PROBE_SIZE)))
    if not np.array_equal(array, expected):
        return Finding("simulator", BROKEN, "It ran a small kernel, but the result is wrong.", SET_UP)
    sentence = f"It ran a kernel of {blocks} blocks of {PROBE_BLOCK} threads, bit for bit right."
    return Finding("simulator", WORKS, f"{sentence} {_engine()}")


def _engine() -> str:
    """Which engine executes machine code here."""
    from gpusim import native

    try:
        return f"Its engine is the compiled one, {native.describe('engine')}."
    except native.NoLibrary as why:
        return f"Its engine is the slower one, in NumPy: {why}"


def _gpu() -> Finding:
    from helpers import gpu

    chosen, probe = gpu.backend(), gpu.probe()  # a setting that cannot be satisfied raises its own sentence
    if not probe.usable:
        sentence = f"None that CuPy can use: {probe.reason}"
        return Finding("GPU", NOT_HERE, sentence, "Kernels run in the simulator, and speeds come from recordings.")
    if chosen == "simulator":
        return Finding("GPU", NOT_HERE, f"{probe.reason} {gpu.reason()}", "Kernels run in the simulator.")
    return _gpu_runs()


def _gpu_runs() -> Finding:
    """Compile and launch on the GPU, and compare the result with the expected one."""
    import numpy as np

    from gpusim import devices
    from helpers import gpu

    array, expected = _expected()
    on_device = gpu.asarray(array)
    blocks = -(-PROBE_SIZE // PROBE_BLOCK)
    gpu.RawModule(code=PROBE).get_function("probe")((blocks,), (PROBE_BLOCK,), (on_device, np.int32(PROBE_SIZE)))
    if not np.array_equal(gpu.asnumpy(on_device), expected):
        advice = f"Set {gpu.BACKEND_VARIABLE}=simulator and restart the notebook's kernel."
        return Finding("GPU", BROKEN, f"{gpu.describe()} ran a small kernel, but the result is wrong.", advice)
    instead = f" Its limits are not in gpusim.devices: pictures use those of the {devices.DEFAULT.name}."
    known = "" if gpu.device() else instead
    return Finding("GPU", WORKS, f"{gpu.describe()}.{known}")


def _recordings() -> Finding:
    from helpers import recordings

    counts = {name: len(recordings.load(name)) for name in recordings.gpus()}
    if not counts:
        return Finding("recordings", BROKEN, "There are none, so notebooks without a GPU show no speeds.", SET_UP)
    counted = ", ".join(f"{count} measurements on {name}" for name, count in counts.items())
    return Finding("recordings", WORKS, f"{counted}.")


def _cache() -> Finding:
    from gpusim.compiler import cache

    folder = cache.folder()
    if folder is None:
        return Finding("cache", NOT_HERE, f"{cache.ENVIRONMENT_VARIABLE}=off: every kernel is compiled anew.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = f"Set {cache.ENVIRONMENT_VARIABLE} to a folder where you may write."
        return Finding(
            "cache", NOT_HERE, f"Compiled kernels cannot be kept ({error.strerror}): start-up is slower.", advice
        )
    return Finding("cache", WORKS, "Compiled kernels are kept for the next time.")


def main() -> int:
    """Print the report. Exit status 1 if something is broken."""
    report = examine()
    print(report.text())
    return 0 if report.healthy else 1


if __name__ == "__main__":
    sys.exit(main())
