"""The one door to a device: CuPy where there is a GPU, the simulator where there is none.

A notebook writes CuPy's names and CuPy's calling convention once, and both devices understand them:

    A = gpu.asarray(host_A)
    module = gpu.RawModule(code=source, options=("-std=c++17",), name_expressions=[entry])
    sgemm = module.get_function(entry)
    sgemm(grid, block, (M, N, K, alpha, A, B, beta, C), shared_mem=0)
    host_C = gpu.asnumpy(C)

With a GPU these names *are* CuPy's objects; RawModule is CuPy's, too, and only finds more headers and names, so that a
kernel compiles on a GPU if it compiles in the simulator. Without a GPU they are the simulator's.
The environment variable GEMM_COURSE_BACKEND chooses: `auto` (the default), `gpu` or `simulator`. Nothing is loaded, and
no choice is made, before the first use, so `from helpers import gpu` is quick and silent on every machine.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from gpusim import devices
from gpusim.sentences import NotSimulated, Sentence

if TYPE_CHECKING:
    from gpusim.devices import Device

BACKEND_VARIABLE = "GEMM_COURSE_BACKEND"


class BackendError(Sentence, Exception):
    """GEMM_COURSE_BACKEND cannot be satisfied on this machine; the message says what was found and what to do."""


@dataclass(frozen=True)
class Probe:
    """Whether CuPy can use a GPU here, and why.

    usable: CuPy can use a GPU here.  reason: one sentence, why it can or cannot.
    """

    usable: bool
    reason: str


def backend() -> Literal["gpu", "simulator"]:
    """The device that the names of this module stand for: `gpu` or `simulator`."""
    setting = os.environ.get(BACKEND_VARIABLE, "").strip().lower() or "auto"
    if setting == "simulator":
        return "simulator"
    if setting == "auto":
        return "gpu" if probe().usable else "simulator"
    if setting == "gpu":
        if not probe().usable:
            raise BackendError(
                f"{BACKEND_VARIABLE}=gpu asks for a GPU, but {probe().reason} "
                f"Set {BACKEND_VARIABLE}=auto (or simulator) to run the same cells on the simulator."
            )
        return "gpu"
    raise BackendError(f"{BACKEND_VARIABLE}={setting!r} is not known: choose auto, gpu or simulator.")


@cache
def probe() -> Probe:
    """Look for a GPU that CuPy can use, once a process. Never raises, prints nothing."""
    driver = _driver_devices()
    if isinstance(driver, str):
        return Probe(False, driver)
    try:
        cupy = _cupy()
        count = cupy.cuda.runtime.getDeviceCount()
    except ImportError as error:
        sentence = (
            f"a driver with {driver} GPU(s) is here, but CuPy, which `make setup GPU=yes` installs, cannot be imported"
        )
        return Probe(False, f"{sentence} ({error}).")
    except Exception as error:  # CuPy's own error types live inside the import that may have failed
        return Probe(False, f"a driver with {driver} GPU(s) is here, but CuPy cannot use it ({error}).")
    if count == 0:
        return Probe(False, "CuPy sees no GPU (is CUDA_VISIBLE_DEVICES empty?).")
    return Probe(True, f"CuPy sees {count} GPU(s).")


def _driver_devices() -> int | str:
    """The number of GPUs that the NVIDIA driver shows, or a sentence why there is none. Loads the driver only."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return f"no NVIDIA driver was found ({library} cannot be loaded)."
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status == 100:  # CUDA_ERROR_NO_DEVICE
        return "the NVIDIA driver is here but shows no GPU."
    if status != 0:
        return f"the NVIDIA driver is here but does not start (CUDA driver error {status})."
    if count.value == 0:
        return "the NVIDIA driver is here but shows no GPU."
    return count.value


def reason() -> str:
    """One sentence: why this backend was chosen."""
    if os.environ.get(BACKEND_VARIABLE, "").strip().lower() == "simulator":
        return f"{BACKEND_VARIABLE}=simulator asks for the simulator."
    sentence = probe().reason
    return sentence[0].upper() + sentence[1:]


def describe() -> str:
    """One line: which device runs the kernels of this notebook."""
    if backend() == "simulator":
        modelled = device()
        return f"simulator, compiling for {modelled.arch} ({modelled.name})"
    runtime = _cupy().cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    driver = runtime.driverGetVersion()
    return (
        f"{properties['name'].decode()} (sm_{properties['major']}{properties['minor']}, "
        f"{properties['multiProcessorCount']} SMs, {properties['totalGlobalMem'] / 2**30:.0f} GiB), "
        f"CuPy {_cupy().__version__}, CUDA driver {driver // 1000}.{driver % 1000 // 10}"
    )


def name() -> str:
    """The GPU's name as the driver gives it, "NVIDIA H200"; on the simulator the name of the GPU that it models."""
    if backend() == "simulator":
        return devices.DEFAULT.name
    runtime = _cupy().cuda.runtime
    return runtime.getDeviceProperties(runtime.getDevice())["name"].decode()


def device() -> Device | None:
    """The specification of the GPU that kernels are compiled for; None for a GPU that gpusim.devices does not know."""
    from gpusim import devices

    return devices.DEVICES.get(name())


def current_stream() -> int:
    """A number for the stream that launches go to now: two launches on one stream follow each other."""
    return _cupy().cuda.get_current_stream().ptr if backend() == "gpu" else 0


def shared_bytes_per_block() -> int | None:
    """The most shared memory, in bytes, that a block of the GPU can ask for; None without a GPU."""
    if backend() != "gpu":
        return None
    return _cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


def synchronize() -> None:
    """Wait until the device has finished all launches; on the GPU this is where a fault inside a kernel is reported."""
    if backend() == "gpu":
        _cupy().cuda.Device().synchronize()


def __getattr__(name: str) -> Any:
    """CuPy's names, resolved at use (PEP 562). AttributeError, with a sentence, for one that is not simulated."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if backend() == "gpu":
        return _raw_module() if name == "RawModule" else getattr(_cupy(), name)
    if name not in _simulated_names():
        raise NotSimulated(
            f"gpu.{name} is not simulated. Here are {', '.join(sorted(_simulated_names()))}; with a GPU all of CuPy is."
        )
    return _simulated_names()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_simulated_names()})


def _cupy() -> ModuleType:
    import cupy

    return cupy


@cache
def _raw_module() -> type:
    """CuPy's RawModule, which compiles what the simulator's compiles: `compiler.adapted` sources, the same headers."""
    from gpusim import compiler
    from helpers import headers

    headers.register()

    class RawModule(_cupy().RawModule):
        def __init__(self, code: str | None = None, *, options: Sequence[str] = (), **others: Any) -> None:
            if code is not None:
                compiler.check_texts(code)
                options = compiler.check_options(options)
                compiler.files_included(code, options)
                code = compiler.adapted(code)
                options = (*options, *compiler.include_options(code))
            super().__init__(code=code, options=tuple(options), **others)

    return RawModule


@cache
def _simulated_names() -> Mapping[str, Any]:
    """The simulator's counterparts of CuPy's names, with CuPy's signatures as far as a learner uses them."""
    from gpusim import cupy_names
    from helpers import headers

    headers.register()
    return cupy_names()
