"""CuPy's `RawModule` without a GPU: compile CUDA C++, and call its kernels."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property

from helpers import compiler, devices
from helpers.compiler import CompiledKernel
from helpers.simulator.cuda import settings
from helpers.simulator.cuda.launch import Learnt, checked, launch
from helpers.simulator.cuda.levels import Forms
from helpers.simulator.cuda.variables import ModuleVariables
from helpers.simulator.engine.run import Prepared
from helpers.simulator.errors import SimulatorError
from helpers.simulator.sanitizer import pointers
from helpers.simulator.sanitizer.pointers import Pointers
from helpers.simulator.sanitizer.shared_arrays import SharedNames


class RawModule:
    """CUDA C++ compiled for `arch` and executed on the CPU; the face of `cupy.RawModule`.

    Args: `code` is the source, `options` are the compiler's, `name_expressions` the template instantiations that
    `get_function` will be asked for, `arch` the architecture to compile for ("sm_90").
    Raises CompileError with the compiler's message, the source line and a caret.
    """

    def __init__(
        self,
        *,
        code: str,
        options: Sequence[str] = (),
        name_expressions: Iterable[str] | None = None,
        backend: str = "nvrtc",
        arch: str = devices.DEFAULT.arch,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.options = tuple(options)
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self.backend = backend
        self.arch = arch
        self._headers = headers
        self._kernels: dict[str, Kernel] = {}
        self._variables = ModuleVariables()
        if self.name_expressions:
            self._compile(self.name_expressions)

    def _compile(self, entries: Sequence[str]) -> None:
        compiled = compiler.compile_module(
            self.code, entries, arch=self.arch, options=self.options, headers=self._headers
        )
        for entry, kernel in compiled.items():
            self._kernels[entry] = Kernel(kernel, self._variables)

    def compile(self) -> None:
        """Compile now (as CuPy's method does), every kernel that the source names if no instantiations were given."""
        if not self._kernels:
            self._compile([name for name in compiler.kernel_names(self.code) if "<" not in name])

    def get_function(self, name: str) -> "Kernel":
        """The kernel `name`: a plain name, or one of the name expressions."""
        if name not in self._kernels:
            if self.name_expressions is not None and name not in self.name_expressions and "<" in name:
                raise SimulatorError(
                    f"{name} is not among name_expressions={list(self.name_expressions)}: name it there, "
                    "so that the compiler instantiates the template."
                )
            self._compile([name])
        return self._kernels[name]


class Kernel:
    """A compiled kernel; calling it launches it, as a function of `cupy.RawModule` does.

    `variables` are those of its module, which all kernels of the module share. `max_dynamic_shared_size_bytes` is the
    most dynamic shared memory that a launch may ask for, as on a GPU until it is set to more.
    """

    def __init__(self, compiled: CompiledKernel, variables: ModuleVariables) -> None:
        self.compiled = compiled
        self.name = compiled.entry
        self.variables = variables
        self.forms = Forms(compiled)
        self.max_dynamic_shared_size_bytes = 48 * 1024 - compiled.shared_bytes
        self.learnt: Learnt | None = None

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
        return self.compiled.max_threads_per_block or 1024

    def prepared(self, level: str) -> Prepared:
        """The kernel ready to run at one of `levels.LEVELS`."""
        return self.forms.at(level)[0]

    @cached_property
    def pointers(self) -> Pointers:
        """Which arrays its instructions may touch."""
        return pointers.find(self.compiled)

    @cache  # noqa: B019 (a kernel has two programs at most, and keeps them anyway)
    def shared_names(self, level: str) -> SharedNames:
        """The names and limits of its shared memory as its program of a level, "sass" or "ptx", accesses it."""
        used = self.pointers.used_by(self.prepared(level).program)
        return SharedNames(self.pointers.shared_arrays, used, self.compiled.source, self.name)

    def __call__(
        self, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence, *, shared_mem: int = 0, stream=None
    ) -> None:
        """Launch: run all threads of all blocks and write the results into the arrays of `args`.

        Args: `grid` and `block` up to three sizes; `args` as CuPy takes them: NumPy scalars or Python ints for scalars,
        contiguous arrays for pointers; `shared_mem` bytes of dynamic shared memory.
        Raises LaunchError, ArgumentError, or what goes wrong in the kernel (helpers.simulator.errors).
        """
        launch(self, checked(self, grid, block, shared_mem), args, settings.current())
