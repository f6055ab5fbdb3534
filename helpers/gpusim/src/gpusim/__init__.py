"""CUDA kernels compiled and executed without a GPU, with all that the memory system would do recorded.

    import gpusim
    module = gpusim.RawModule(code=source, options=("-std=c++17",), name_expressions=[name])
    kernel = module.get_function(name)
    with gpusim.record() as recording:                      # executes the machine code that the hardware runs
        kernel(grid, block, args)                           # NumPy arrays are written in place
    recording.level, recording.note                         # "sass", or "ptx" and why the machine code was not executed
    recording.counters                                      # under Nsight Compute's names
    recording.by_line(), recording.by_instruction()         # where they come from
    recording.requests("global", block=(0, 0), warp=0)      # addresses
    recording.occupancy
    gpusim.timing.predict(recording, "NVIDIA H200").ms      # how long it would take there

`with gpusim.sanitize() as reports` lists races, uninitialised reads and accesses out of bounds.

These names are the whole face; they are loaded when they are first asked for (PEP 562).
"""

from importlib import import_module
from operator import attrgetter
from typing import Any

_HOMES = {  # of each name: its module, or that and its name there
    "Captured": "counters.recorded",
    "Counts": "counters.questions",
    "DeviceArray": "cupy.arrays",
    "Finding": "checks.checks",
    "InstructionCounts": "counters.questions",
    "Kernel": "cupy.raw_module",
    "LineCounts": "counters.questions",
    "RawModule": "cupy.raw_module",
    "Recording": "counters.questions",
    "Report": "checks.checks",
    "SharedNames": "symbols.shared_arrays",
    "SimulatorError": "errors",
    "capture": "cupy.settings",
    "cupy_names": "cupy.names:names",
    "empty": "cupy.arrays",
    "record": "cupy.settings",
    "sanitize": "cupy.settings",
}
_MODULES = {  # of each: where it lies
    "arithmetic": "arithmetic",
    "compiler": "compiler",
    "constants": "constants",
    "counting": "counters.counting",  # the rules of sectors, tags and banks
    "devices": "devices",
    "errors": "errors",
    "native": "native",
    "occupancy": "occupancy",
    "pointers": "symbols.pointers",
    "sentences": "sentences",
    "timing": "timing",
}

__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name: str) -> Any:
    """A name of the face, from the module that it lies in."""
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    module, _, path = _HOMES[name].partition(":")
    globals()[name] = value = attrgetter(path or name)(import_module(f"{__name__}.{module}"))
    return value


def __dir__() -> list[str]:
    return __all__
