"""CuPy's `RawModule` without a GPU: compile CUDA C++, and call its kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, TextIO

import numpy as np

from gpusim import compiler, devices
from gpusim.compiler import CompiledKernel, cubin
from gpusim.cupy.arrays import DeviceArray, MemoryPointer
from gpusim.cupy.variables import ModuleVariables, variable_called
from gpusim.errors import ArgumentError, SimulatorError
from gpusim.symbols.pointers import name_in_source

if TYPE_CHECKING:
    from gpusim.cupy.launch import Learnt
    from gpusim.cupy.levels import Forms
    from gpusim.engine.run import Prepared
    from gpusim.symbols.pointers import Pointers
    from gpusim.symbols.shared_arrays import SharedNames

EXECUTORS = ("gpusim.cupy.launch", "gpusim.isa.sass.program")  # they load most of the simulator

ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
    "binary_version", "max_dynamic_shared_size_bytes",
)  # fmt: skip
SETTABLE = ("max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout")


class RawModule:
    """CUDA C++ compiled for `arch` and executed on the CPU; the face of `cupy.RawModule`.

    Args: `code` is the source, `options` are the compiler's, `name_expressions` the template instantiations that
    `get_function` will be asked for, `arch` the architecture to compile for ("sm_90"); with
    `enable_cooperative_groups` launches are cooperative: all blocks are there at once and may meet (`grid.sync()`).
    `translate_cucomplex` changes nothing: cuComplex.h itself is found.
    Raises CompileError with the compiler's message, the source line and a caret.
    """

    def __init__(
        self,
        code: str | None = None,
        *,
        options: Sequence[str] = (),
        name_expressions: Iterable[str] | None = None,
        backend: str = "nvrtc",
        arch: str = devices.DEFAULT.arch,
        headers: Mapping[str, str] | None = None,
        enable_cooperative_groups: bool = False,
        path: str | None = None,
        translate_cucomplex: bool = False,
        jitify: bool = False,
    ) -> None:
        if path is not None or code is None:
            raise SimulatorError(
                "RawModule takes a source, RawModule(code=…): machine code of a file, path=…, runs on a GPU alone."
            )
        if jitify is not False:
            raise SimulatorError("jitify is not simulated. Leave it out: CUDA's own headers are found without it.")
        compiler.check_texts(code)
        self.code = code
        self.enable_cooperative_groups = enable_cooperative_groups
        self.options = compiler.check_options(options)
        self.name_expressions = _names(name_expressions)
        self.backend = backend
        self.arch = arch
        self._headers = headers
        self._kernels: dict[str, Kernel] = {}
        self._variables = ModuleVariables()
        if self.name_expressions:
            self._compile(self.name_expressions)

    def _compile(self, entries: Sequence[str]) -> None:
        _load_executors()
        compiled = compiler.compile_module(
            self.code, entries, arch=self.arch, options=self.options, headers=self._headers
        )
        for entry, kernel in compiled.items():
            self._kernels[entry] = Kernel(kernel, self._variables, self.enable_cooperative_groups)

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile now (as CuPy's method does), every kernel that the source names if no instantiations were given.

        The compiler's warnings are written to `log_stream`.
        """
        if not self._kernels:
            self._compile_all()
        for log in dict.fromkeys(kernel.compiled.log for kernel in self._kernels.values() if log_stream):
            log_stream.write(log)

    def _compile_all(self) -> None:
        """Compile at once all kernels that need no instantiation, as the compiler does anyway, whichever is asked for.

        What it does not find is left out: a kernel within `#if 0`, or in a namespace, which only its full name means.
        """
        names = self._plain_names()
        try:
            self._compile(names)
        except compiler.UnknownKernel as error:
            self._compile([name for name in names if name not in error.entries])

    def _plain_names(self) -> list[str]:
        """The kernels that the source names, without templates, whose arguments only a caller knows."""
        return [name for name in compiler.kernel_names(self.code) if "<" not in name]

    def get_function(self, name: str) -> Kernel:
        """The kernel `name`: a plain name, or one of the name expressions."""
        compiler.check_texts(self.code, (name,))
        if name not in self._kernels:
            if self.name_expressions is not None and name not in self.name_expressions and "<" in name:
                raise SimulatorError(
                    f"{name} is not among name_expressions={list(self.name_expressions)}: name it there, "
                    "so that the compiler instantiates the template."
                )
            if name in self._plain_names():
                self._compile_all()
            if name not in self._kernels:
                self._compile([name])
        return self._kernels[name]

    def get_global(self, name: str) -> MemoryPointer:
        """The memory of a `__device__` or `__constant__` variable: `gpu.ndarray(shape, dtype, pointer)` is its array.

        Args: `name` is the variable's in the source, `weights`, with its namespace or without: `conv::weights`. On a
        GPU CuPy knows one of a namespace by its name in the machine code alone, `_ZN4conv7weightsE`, which is
        understood here, too.
        Raises SimulatorError, which lists the module's variables, if it has none of that name; CompileError.
        """
        if not isinstance(name, str):
            raise SimulatorError(f"get_global takes the name of a variable, such as 'weights', and this is {name!r}.")
        if not self._kernels:
            self._compile_all()
        texts = dict.fromkeys(kernel.compiled.ptx for kernel in self._kernels.values())
        if texts:
            declared = [variable for text in texts for variable in compiler.variables_in(text)]
        else:
            declared = compiler.module_variables(self.code, arch=self.arch, options=self.options, headers=self._headers)
        source = "\n".join((self.code, *(self._headers or {}).values()))
        return self._variables.pointer(variable_called(name, declared, source), declared)


class DeviceRawModule(RawModule):
    """A RawModule whose kernels refuse arrays of the host, as CuPy's do: what `gpu.RawModule` is on the simulator."""

    def get_function(self, name: str) -> Kernel:
        kernel = super().get_function(name)
        kernel.takes_host_arrays = False
        return kernel


@cache
def _load_executors() -> None:
    """Load what a launch needs while the compiler works, which is a process of its own: 0.1 s that no learner waits."""
    Thread(target=lambda: [*map(import_module, EXECUTORS)]).start()


def _names(expressions: Iterable[str] | None) -> tuple[str, ...] | None:
    if expressions is None:
        return None
    try:
        if not isinstance(expressions, str):
            return tuple(expressions)
    except TypeError:
        pass
    raise SimulatorError(
        f"name_expressions is a list of instantiations such as ['tile<32>'], and this is {expressions!r}."
    )


class Kernel:
    """A compiled kernel; calling it launches it, as a function of `cupy.RawModule` does.

    `variables` are those of its module, which all kernels of the module share. `max_dynamic_shared_size_bytes` is the
    most dynamic shared memory that a launch may ask for, as on a GPU until it is set to more. Of a `cooperative` kernel
    all blocks are on the device at once.
    """

    def __init__(self, compiled: CompiledKernel, variables: ModuleVariables, cooperative: bool = False) -> None:
        self.cooperative = cooperative
        self.compiled = compiled
        self.name = compiled.entry
        self.variables = variables
        self.max_dynamic_shared_size_bytes = 48 * 1024 - compiled.shared_bytes
        self.preferred_shared_memory_carveout = -1  # a wish to the driver, which counts for nothing here
        self.learnt: Learnt | None = None
        self.takes_host_arrays = True

    def __reduce__(self):
        raise SimulatorError(
            f"{self.name} is a compiled kernel, which cannot be pickled or copied. Give the other process its source, "
            "and compile it there: that takes no time, since what was compiled is kept on disk."
        )

    @property
    def num_regs(self) -> int:
        """Registers a thread."""
        return self.compiled.registers

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block, bytes."""
        return self.compiled.shared_bytes

    @property
    def local_size_bytes(self) -> int:
        """Local memory of a thread, bytes."""
        return self.compiled.local_bytes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block that registers and `__launch_bounds__` allow."""
        try:
            most = devices.most_threads(devices.limits_for(self.compiled.arch), self.num_regs)
        except devices.UnknownDevice:
            most = 1024
        return min(most, self.compiled.max_threads_per_block or most)

    @cached_property
    def const_size_bytes(self) -> int:
        """`__constant__` variables of the module, bytes."""
        return len(cubin.read(self.compiled.cubin).bank(3, self.compiled.lowered_name))

    @property
    def binary_version(self) -> int:
        """The architecture of the machine code, 10 × major + minor: 90 for "sm_90"."""
        return int(self.compiled.arch.removeprefix("sm_").rstrip("af"))

    @property
    def ptx_version(self) -> int:
        """The architecture of the PTX, 10 × major + minor: that of the machine code, for which it was made."""
        return self.binary_version

    @property
    def attributes(self) -> dict[str, int]:
        """What CuPy's `attributes` says of a kernel, all but how it uses the L1 cache."""
        return {name: getattr(self, name) for name in ATTRIBUTES}

    @property
    def forms(self) -> Forms:
        """The kernel ready to run, as it is kept of those that ran last: to hold it here would keep that of each."""
        from gpusim.cupy.levels import forms_of

        return forms_of(self.compiled)

    def prepared(self, level: str) -> Prepared:
        """The kernel ready to run at one of `levels.LEVELS`."""
        return self.forms.at(level)[0]

    @property
    def pointers(self) -> Pointers:
        """Which arrays its instructions may touch."""
        return self.forms.pointers

    def shared_names(self, level: str) -> SharedNames:
        """The names and limits of its shared memory as its program of a level, "sass" or "ptx", accesses it."""
        return self.forms.shared_names(level)

    def _refuse_host_arrays(self, args: Sequence) -> None:
        for argument, parameter in zip(args, self.compiled.parameters, strict=False):
            by_value = not parameter.is_pointer and np.size(argument) == 1  # a struct, as an array of one element
            if isinstance(argument, np.ndarray) and not isinstance(argument, DeviceArray) and not by_value:
                raise ArgumentError(
                    f"Unsupported type {type(argument)}: {parameter.name} of {self.name} is given an array of the "
                    "host, and a kernel reaches the memory of the device alone. Copy it there, and pass the copy: "
                    "gpu.asarray(x)."
                )

    def __call__(
        self,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        args: Sequence | None = None,
        *,
        shared_mem: int = 0,
        stream=None,
    ) -> None:
        """Launch: run all threads of all blocks and write the results into the arrays of `args`.

        Args: `grid` and `block` up to three sizes; `args` as CuPy takes them: NumPy scalars or Python ints for scalars,
        contiguous arrays for pointers; `shared_mem` bytes of dynamic shared memory.
        Raises LaunchError, ArgumentError, or what goes wrong in the kernel (gpusim.errors).
        """
        if args is None:
            wanted = ", ".join(parameter.name for parameter in self.compiled.parameters)
            raise ArgumentError(
                f"{self.name} was not launched: a launch takes the grid, the block and a tuple of arguments, "
                f"{self.name}((…,), (…,), ({wanted}{',' * (len(self.compiled.parameters) == 1)}))."
            )
        if not self.takes_host_arrays:
            self._refuse_host_arrays(args)
        from gpusim.cupy import settings
        from gpusim.cupy.launch import checked, launch

        geometry = checked(self, grid, block, shared_mem)
        if geometry.shared_mem and len(self.compiled.dynamic_arrays) > 1:
            first, second, *_ = map(name_in_source, self.compiled.dynamic_arrays)
            warnings.warn(
                f"{self.name} has several arrays of dynamic shared memory, {first} and {second}: all that are extern "
                f"__shared__ begin at the same address, and what is written into one is in the other. If they are not "
                f"meant to be the same memory, declare one, and let {second} be a pointer behind the elements of "
                f"{first}.",
                stacklevel=2,
            )
        launch(self, geometry, args, settings.current())
