"""What GPUs have and what a launch may ask of them, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusim.devices import UNITS, Device
from helpers.pictures import theme
from helpers.pictures.tables import Table

Row = tuple[str, Callable[[Device], str]]

ASKED: tuple[Row, ...] = (  # of a launch, the same on every GPU of the course
    ("threads of a block, at most", lambda gpu: theme.thousands(gpu.max_threads_per_block)),
    ("of them along x, y, z, at most", lambda gpu: " × ".join(map(theme.thousands, gpu.max_block))),
    ("blocks of a grid along x, y, z, at most", lambda gpu: " × ".join(map(theme.thousands, gpu.max_grid))),
)
HAS: tuple[Row, ...] = (
    ("architecture", lambda gpu: gpu.arch),
    ("streaming multiprocessors (SMs)", lambda gpu: theme.thousands(gpu.sms)),
    ("threads that an SM holds at once", lambda gpu: theme.thousands(gpu.threads_per_sm)),
    ("threads that the GPU holds at once", lambda gpu: theme.thousands(gpu.sms * gpu.threads_per_sm)),
    ("single-precision units of an SM, and in all", lambda gpu: _units(gpu, "FP32")),
    ("double-precision units of an SM, and in all", lambda gpu: _units(gpu, "FP64")),
    ("tensor cores of an SM, and in all", lambda gpu: _units(gpu, "tensor")),
    ("clock, MHz", lambda gpu: theme.thousands(gpu.clock_mhz)),
    ("single-precision peak, GFLOPS", lambda gpu: theme.thousands(gpu.peak_fp32_gflops)),
    ("memory, GB/s, as NVIDIA gives it", lambda gpu: theme.thousands(gpu.memory_gb_per_s)),
    ("L2 cache, MB", lambda gpu: theme.number(gpu.l2_bytes / 2**20)),
    ("shared memory of an SM, bytes", lambda gpu: theme.thousands(gpu.shared_bytes_per_sm)),
    ("registers of an SM", lambda gpu: theme.thousands(gpu.registers_per_sm)),
)


def limits_table(gpus: Sequence[Device]) -> Table:
    """First what a launch may ask for, then what each GPU has, a column for each."""
    rows = tuple((name, *(text_for(gpu) for gpu in gpus)) for name, text_for in (*ASKED, *HAS))
    has = "has" if len(gpus) == 1 else "have"
    caption = f"What a launch may ask for, and what {' and '.join(f'an {gpu.short}' for gpu in gpus)} {has}"
    return Table(
        ("", *(gpu.short for gpu in gpus)), rows, caption, begins=frozenset({len(ASKED)}), words=frozenset({0})
    )


def _units(gpu: Device, kind: str) -> str:
    """'64, 6 912', a dash where they are not known."""
    each = gpu.fp32_lanes_per_sm if kind == "FP32" else UNITS.get(gpu.arch, {}).get(kind)
    return "–" if each is None else f"{each}, {theme.thousands(each * gpu.sms)}"
