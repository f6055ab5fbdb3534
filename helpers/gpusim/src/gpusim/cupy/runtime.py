"""CuPy's `cuda`, as far as a learner meets it: the device, streams, events, memory, and what the runtime says of them.

What has to do with time, or with what only a GPU has, is answered by a sentence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import numpy as np

from gpusim import devices
from gpusim.compiler import nvrtc
from gpusim.cupy import arrays, textures
from gpusim.cupy.arrays import MemoryPointer
from gpusim.errors import ArgumentError, SimulatorError
from gpusim.sentences import NotSimulated

NO_TIME = (
    "The simulator counts, it does not measure time: {what} has none to give. Counters come from gpusim.record(); "
    "speeds that were recorded on a GPU from helpers.measure."
)
_numbers = count(3)  # CuPy's null stream is 0, the legacy default 1, that of a thread 2


class Names:
    """Some names of CuPy's that belong together: `gpu.cuda`. Another one is answered by a sentence."""

    def __init__(self, within: str, **known: Any) -> None:
        self.__dict__.update(known, _within=within)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        here = ", ".join(sorted(attribute for attribute in vars(self) if attribute != "_within"))
        raise NotSimulated(
            f"gpu.{self._within}.{name} is not simulated. Here are {here}; with a GPU there is all of CuPy."
        )


class _Part:
    """A class of CuPy's of which only a part is here. Another name is answered by a sentence."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        here = ", ".join(
            sorted(attribute for attribute in {*dir(type(self)), *vars(self)} if not attribute.startswith("_"))
        )
        raise NotSimulated(
            f"{type(self).__name__}.{name} is not simulated. A {type(self).__name__} here has {here}; with a GPU there "
            "is all of CuPy."
        )


class Stream(_Part):
    """A queue of launches. In the simulator every launch has ended when its call returns.

    `ptr` is the stream's number, 0 that of the null stream; streams of one number are equal.
    """

    null: ClassVar[Stream]  # the one that is current where a program asks for no other
    per_thread: ClassVar[Stream]
    done = True

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else 2 if ptds else next(_numbers)
        self.non_blocking = non_blocking
        self.priority = priority or 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<Stream {self.ptr}>"

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to leave: launches go to the one device in any case."""

    def use(self) -> Stream:
        """Make it the current stream."""
        return self

    def synchronize(self) -> None:
        """All launches have ended."""

    def record(self, event: Event | None = None) -> Event:
        """An event behind the launches so far."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """All launches before the event have ended."""

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any) -> None:
        """Call the function with the stream, 0 (no error) and `arg`: at once, as all launches have ended."""
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable[[Any], None], arg: Any) -> None:
        """Call the function with `arg`: at once, as all launches have ended."""
        callback(arg)


Stream.null, Stream.per_thread = Stream(null=True), Stream(ptds=True)


class Event(_Part):
    """A mark in a stream. It knows that it was passed, and not when."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.done = True
        self.ptr = next(_numbers)

    def record(self, stream: Stream | None = None) -> None:
        """Passed at once."""

    def synchronize(self) -> None:
        """Passed already."""


def get_elapsed_time(start: Event, stop: Event) -> float:
    """Milliseconds between two events on a GPU. Raises SimulatorError: here no time passes."""
    raise SimulatorError(NO_TIME.format(what="an event"))


class Device(_Part):
    """`cupy.cuda.Device`: the one that is simulated, whose limits are those of the default GPU."""

    def __init__(self, device: int | Device | None = None) -> None:
        try:
            self.id = 0 if device is None else int(device) if isinstance(device, Device) else operator.index(device)
        except TypeError:
            raise ArgumentError(f"A device is known by its number, 0, and this is {device!r}.") from None

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        return self.use()

    def __exit__(self, *_: object) -> None:
        """There is no other one to go back to."""

    def use(self) -> Device:
        """Make it the current device. Raises SimulatorError if it is not the one that there is."""
        if self.id:
            raise SimulatorError(f"There is no device {self.id}: one GPU is simulated, and its number is 0.")
        return self

    def synchronize(self) -> None:
        """All launches have ended."""

    @property
    def compute_capability(self) -> str:
        """Such as "90"."""
        return "".join(map(str, devices.DEFAULT.compute_capability))

    @property
    def attributes(self) -> dict[str, int]:
        """What CUDA calls attributes, as far as it says what a launch may have."""
        device = devices.DEFAULT
        major, minor = device.compute_capability
        axes = [f"Max{what}Dim{axis}" for what in ("Block", "Grid") for axis in "XYZ"]
        return dict(zip(axes, (*device.max_block, *device.max_grid), strict=True)) | {
            "MultiProcessorCount": device.sms, "WarpSize": devices.WARP, "ComputeCapabilityMajor": major,
            "ComputeCapabilityMinor": minor, "MaxThreadsPerBlock": device.max_threads_per_block,
            "MaxThreadsPerMultiProcessor": device.threads_per_sm, "MaxBlocksPerMultiprocessor": device.blocks_per_sm,
            "MaxRegistersPerBlock": device.registers_per_block,
            "MaxRegistersPerMultiprocessor": device.registers_per_sm,
            "MaxSharedMemoryPerBlock": device.shared_bytes_per_block,
            "MaxSharedMemoryPerBlockOptin": device.carve_outs[-1] - device.reserved_shared_bytes_per_block,
            "MaxSharedMemoryPerMultiprocessor": device.carve_outs[-1], "L2CacheSize": device.l2_bytes,
            "ClockRate": 1000 * device.clock_mhz, "CooperativeLaunch": 1,
        }  # fmt: skip


class Properties(dict[str, Any]):
    """What `getDeviceProperties` says of the GPU that is simulated. Another name is answered by a sentence."""

    def __missing__(self, name: str) -> Any:
        raise SimulatorError(f"The property {name!r} of a GPU is not simulated. Here are {', '.join(sorted(self))}.")


def device_properties(device: int | Device = 0) -> Properties:
    """`cupy.cuda.runtime.getDeviceProperties`, as far as it says what a launch may have."""
    chip, has = devices.DEFAULT, Device(device).use().attributes
    return Properties(
        name=chip.name.encode(), major=has["ComputeCapabilityMajor"], minor=has["ComputeCapabilityMinor"],
        multiProcessorCount=chip.sms, warpSize=devices.WARP, maxThreadsPerBlock=chip.max_threads_per_block,
        maxThreadsDim=chip.max_block, maxGridSize=chip.max_grid, maxThreadsPerMultiProcessor=chip.threads_per_sm,
        maxBlocksPerMultiProcessor=chip.blocks_per_sm, regsPerBlock=chip.registers_per_block,
        regsPerMultiprocessor=chip.registers_per_sm, sharedMemPerBlock=chip.shared_bytes_per_block,
        sharedMemPerBlockOptin=has["MaxSharedMemoryPerBlockOptin"], reservedSharedMemPerBlock=
        chip.reserved_shared_bytes_per_block, sharedMemPerMultiprocessor=chip.carve_outs[-1], l2CacheSize=chip.l2_bytes,
        clockRate=has["ClockRate"], totalConstMem=1 << 16, cooperativeLaunch=1,
    )  # fmt: skip


class MemoryPool(_Part):
    """`cupy.get_default_memory_pool()`. Arrays lie in this computer's memory, and are free when no array has them."""

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Nothing is kept that could be given back."""


def alloc(size: int) -> MemoryPointer:
    """`cupy.cuda.alloc`: so many bytes, which was never written; `gpu.ndarray(shape, dtype, pointer)` is an array."""
    if not isinstance(size, int | np.integer) or size < 0:
        raise ArgumentError(f"gpu.cuda.alloc takes a number of bytes, and this is {size!r}.")
    return arrays.empty(int(size), np.uint8).data


def _version() -> int:
    major, minor = nvrtc.version()
    return 1000 * major + 10 * minor


def names() -> Names:
    """What `gpu.cuda` is."""
    of_streams = {"Stream": Stream, "Event": Event, "get_elapsed_time": get_elapsed_time,
                  "get_current_stream": lambda: Stream.null}  # fmt: skip
    runtime = Names(
        "cuda.runtime", **textures.RUNTIME, deviceSynchronize=lambda: None, getDeviceCount=lambda: 1,
        getDevice=lambda: 0, setDevice=lambda device: Device(device).use() and None,
        getDeviceProperties=device_properties, runtimeGetVersion=_version, streamSynchronize=lambda stream: None,
        driverGetVersion=lambda: 0,  # as CUDA answers where there is no driver
    )  # fmt: skip
    device = Names(
        "cuda.device",
        Device=Device,
        get_compute_capability=lambda: Device().compute_capability,
        get_device_id=lambda: 0,
    )
    return Names(
        "cuda", **of_streams, Device=Device, MemoryPointer=MemoryPointer, MemoryPool=MemoryPool, alloc=alloc,
        alloc_pinned_memory=bytearray, device=device, is_available=lambda: True, runtime=runtime,
        stream=Names("cuda.stream", **of_streams), texture=Names("cuda.texture", **textures.NAMES),
    )  # fmt: skip
