"""From a source text to a compiled kernel: options, cache, errors, resources."""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.compiler import (
    cache,
    cubin,
    diagnostics,
    includes,
    nvrtc,
    parameter_types,
    portable,
    precompiled,
    ptx,
    signature,
)
from gpusim.compiler.errors import CompileError, UnknownArchitecture
from gpusim.compiler.explain import failed_compilation
from gpusim.compiler.parameter_types import ParameterType
from gpusim.compiler.paths import with_given_names
from gpusim.devices import DEFAULT

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

_ARCHITECTURE = re.compile(r"sm_(\d+)[af]?\Z")
_SPILLS = re.compile(
    r"Function properties for (\S+)\n[^\n]*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_INCLUDES = re.compile(r"^\s*#\s*include\b", re.MULTILINE)
_DEBUG = frozenset(("-G", "--device-debug"))
_RELOCATABLE = ("-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c")
_FOR_A_LINKER = ("-dlto", "--dlink-time-opt")
_CACHE_FORMAT = 2


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter: ``offset`` and ``size`` in bytes within the parameter block, ``type`` and ``name`` as the
    source declares them (``"const float *"``, ``"A"``; without a name, ``"argument 3"``)."""

    index: int
    name: str
    type: str
    offset: int
    size: int

    @property
    def is_pointer(self) -> bool:
        return self.type.endswith("*")


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's machine code and what the compiler says of it.

    ``ptx`` and ``cubin`` hold the whole module; ``lowered_name`` is the kernel's name in them. ``shared_bytes`` is the
    static shared memory of a block (without the bytes that the system reserves), ``local_bytes`` the stack of a thread,
    spills included. ``parameter_base`` is where the parameters start in constant bank 0. ``max_threads_per_block`` is
    what ``__launch_bounds__`` promises, or None. ``log`` holds the compiler's warnings.
    """

    entry: str
    lowered_name: str
    arch: str
    source: str
    filename: str
    options: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]
    ptx: str
    cubin: bytes
    registers: int
    shared_bytes: int
    local_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    max_threads_per_block: int | None
    parameters: tuple[Parameter, ...]
    parameter_base: int
    compiler_version: tuple[int, int]
    log: str

    @property
    def debug(self) -> bool:
        """Whether it is code for a debugger."""
        return not _DEBUG.isdisjoint(self.options)

    @functools.cached_property
    def cluster(self) -> tuple[int, int, int] | None:
        """What ``__cluster_dims__`` asks for: the blocks of a cluster (x, y, z)."""
        head = re.search(rf"\.entry\s+{re.escape(self.lowered_name)}\b[^{{]*", self.ptx)
        sizes = re.search(r"\.reqnctapercluster\s+([\d, ]+)", head[0]) if head else None
        if sizes is None:
            return None
        x, y, z = ([int(size) for size in sizes[1].split(",")] + [1, 1])[:3]
        return x, y, z

    @functools.cached_property
    def dynamic_arrays(self) -> tuple[str, ...]:
        """The ``extern __shared__`` arrays that the kernel uses, as the PTX names them. All begin at one address."""
        names = re.findall(r"^\.extern \.shared [^;]*?([\w$]+)\[\];", self.ptx, re.MULTILINE)
        if len(names) < 2:
            return tuple(names)
        body = re.search(rf"\.entry\s+{re.escape(self.lowered_name)}\b.*?^\}}", self.ptx, re.MULTILINE | re.DOTALL)
        words = set(re.findall(r"[\w$]+", body[0])) if body else set()
        return tuple(name for name in names if name in words)

    def parameter_type(self, index: int) -> ParameterType | None:
        """How a parameter lies in memory: by its text, or else by what the compiler says; None if that says nothing."""
        read = self._types_by_text[index]
        return self._types_by_compiler[index] if read is None and self._types_by_compiler else read

    @functools.cached_property
    def _types_by_text(self) -> tuple[ParameterType | None, ...]:
        text = "\n".join((self.source, *(header for _, header in self.headers)))
        if not parameter_types.is_defined_once(text, signature.base_name(self.entry)):
            return (None,) * len(self.parameters)
        return tuple(parameter_types.from_text(each.type, text) for each in self.parameters)

    @functools.cached_property
    def _types_by_compiler(self) -> tuple[ParameterType, ...] | None:
        types = _asked_types(self.source, self.entry, self.arch, self.options, self.filename, self.headers)
        return types if types and len(types) == len(self.parameters) else None

    def __repr__(self) -> str:
        return (
            f"<{self.entry} for {self.arch}: {self.registers} registers, {self.shared_bytes} B shared, "
            f"{self.local_bytes} B local>"
        )


def compile(
    source: str,
    entry: str,
    *,
    arch: str = DEFAULT.arch,
    options: Sequence[str] = (),
    filename: str = "kernel.cu",
    headers: Mapping[str, str] | None = None,
) -> CompiledKernel:
    """Compile CUDA C++ to PTX and machine code with NVRTC; no GPU is needed.

    Args:
        source: CUDA C++ text.
        entry: a kernel's name, ``extern "C"`` or not, or a template instantiation such as ``"tile<128, 8>"``.
        arch: the architecture of the machine code, ``"sm_90"``; see ``architectures()``.
        options: NVRTC options as ``cupy.RawModule`` takes them.
        filename: what the compiler's messages and the line table call the source.
        headers: text by name, for ``#include "name"``.

    The language is the one that CuPy's RawModule compiles: after the caller's options CuPy 14.2 adds ``--std=c++17``
    (unless the caller names a standard), its include folders, ``-ftz=true`` (denormals are flushed to zero, even if
    the caller asks otherwise: the last one counts), ``-arch=sm_XX`` and ``--device-as-default-execution-space``
    (``assemble_cupy_compiler_options`` and ``cupy/cuda/compiler.py``). The folders are left out where the source
    includes nothing. Added here are ``-lineinfo``, which does not
    change the instructions, and ptxas's report.

    Raises:
        CompileError: the source does not compile; UnknownKernel and UnknownArchitecture are kinds of it.
        CompilerMissing: NVRTC cannot be loaded.
    """
    return compile_module(source, (entry,), arch=arch, options=options, filename=filename, headers=headers)[entry]


def compile_module(
    source: str,
    entries: Sequence[str],
    *,
    arch: str = DEFAULT.arch,
    options: Sequence[str] = (),
    filename: str = "kernel.cu",
    headers: Mapping[str, str] | None = None,
) -> dict[str, CompiledKernel]:
    """Compile several kernels of one source at once; as ``compile``, by entry."""
    check_texts(source, entries)
    _check_architecture(arch)
    options, given = check_options(options), check_headers(headers)
    files = files_included(source, options, filename, given)
    return dict(_compiled(source, tuple(entries), arch, options, filename, given, files))


def files_included(
    source: str, options: Sequence[str] = (), filename: str = "kernel.cu", headers: Sequence[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """The files that a source includes and CUDA does not bring, as (path, text).

    Raises CompileError for one that sources may not include: see `gpusim.compiler.includes`.
    """
    text = includes.without_those_in_comments(source)
    return tuple(
        includes.check(text, options, dict(headers), lambda: [folder[2:] for folder in _folders()], filename).items()
    )


def module_variables(
    source: str,
    *,
    arch: str = DEFAULT.arch,
    options: Sequence[str] = (),
    filename: str = "kernel.cu",
    headers: Mapping[str, str] | None = None,
) -> tuple[ptx.Variable, ...]:
    """The ``__device__`` and ``__constant__`` variables of a source, without those of templates; raises as ``compile``.

    They are also in the ``ptx`` of every kernel that was compiled: see ``variables_in``.
    """
    check_texts(source, ())
    _check_architecture(arch)
    options, given = check_options(options), check_headers(headers)
    files = files_included(source, options, filename, given)
    return variables_in(_output(source, (), arch, options, filename, given, files).ptx)


def variables_in(text: str) -> tuple[ptx.Variable, ...]:
    """The ``__device__`` and ``__constant__`` variables that a PTX text defines."""
    return tuple(variable for variable in ptx.parse(text).variables if variable.space in ("global", "const"))


def architectures() -> tuple[str, ...]:
    """The names of the architectures that the installed compiler knows, ascending: ``("sm_75", …)``."""
    return tuple(f"sm_{number}" for number in nvrtc.supported_architectures())


def full_options(arch: str, options: Sequence[str], *, includes: bool = False) -> tuple[str, ...]:
    """The options that reach NVRTC, in CuPy's order; ``includes`` says whether the source includes any file.

    A source that includes nothing gets no folders, so that its options are the same on every machine.
    """
    folders = (*_registered(), *_folders()) if includes else ()
    standard = () if any("-std=" in option for option in options) else ("--std=c++17",)
    own = ("-ftz=true", f"-arch={arch}", "--device-as-default-execution-space")
    line_info = () if not _DEBUG.isdisjoint(options) else ("-lineinfo",)
    # One file is the whole program, so that there is nothing to link: relocatable code would only have open addresses.
    alone = tuple(option for option in _in_one_word(options) if option not in _RELOCATABLE)
    return (*alone, *standard, *folders, *own, *line_info, "--ptxas-options=-v")


def _in_one_word(options: Sequence[str]) -> tuple[str, ...]:
    """Options with `"-rdc", "true"` written as `"-rdc=true"`."""
    words: list[str] = []
    for option in options:
        if words and words[-1] in ("-rdc", "--relocatable-device-code"):
            words[-1] += f"={option}"
        else:
            words.append(option)
    return tuple(words)


def include_options(*texts: str) -> tuple[str, ...]:
    """The options that a source and its headers need for the files that they include; () if they include none."""
    return (*_registered(), *_folders()) if any(map(_INCLUDES.search, texts)) else ()


def _registered() -> tuple[str, ...]:
    return tuple(f"-I{folder}" for folder in includes.registered())


@functools.cache
def _folders() -> tuple[str, ...]:
    """The include options for the headers of CUDA (cuda_fp16.h, cooperative_groups.h, …), of CCCL (cuda/std, cub) and
    of crt (behind mma.h), and for those of cuRAND where it is installed.

    Set-up installs them as packages of NVRTC's own version. Those are taken even where there is a CUDA toolkit, whose
    headers may be of another version: mixed they do not compile. CuPy brings a CCCL of its own on a GPU.
    """
    from cuda.pathfinder import find_nvidia_header_directory

    folders = [find_nvidia_header_directory(name) for name in ("cudart", "cccl", "curand")]
    crt = next((file for file in _files("nvidia-cuda-crt") if file.name == "mma.h"), None)
    if crt is not None:
        folders.append(str(Path(crt.locate()).parents[1]))
    return tuple(f"-I{folder}" for folder in dict.fromkeys(folders) if folder)


def _files(package: str) -> Sequence[PackagePath]:
    """The files of an installed package, none if it is not installed."""
    from importlib import metadata  # brings the parser of e-mails, and is needed only by kernels with #include

    try:
        return metadata.files(package) or ()
    except metadata.PackageNotFoundError:
        return ()


def _to_ptx_only(options: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(option.replace("-arch=sm_", "-arch=compute_") for option in options)


@functools.lru_cache(maxsize=128)
def _compiled(
    source: str,
    entries: tuple[str, ...],
    arch: str,
    options: tuple[str, ...],
    filename: str,
    headers: tuple[tuple[str, str], ...],
    files: tuple[tuple[str, str], ...],
) -> tuple[tuple[str, CompiledKernel], ...]:
    output = _output(source, entries, arch, options, filename, headers, files)
    return _kernels(output, source, entries, arch, options, filename, headers)


def _output(
    source: str,
    entries: tuple[str, ...],
    arch: str,
    options: tuple[str, ...],
    filename: str,
    headers: tuple[tuple[str, str], ...],
    files: tuple[tuple[str, str], ...],
) -> nvrtc.Output:
    """`files` are those that the source includes: the output is kept for these texts."""
    text = portable.adapted(includes.without_those_in_comments(source))
    every_option = full_options(arch, options, includes=_includes(text, headers, files))
    # Both spellings of the language give the same code: whether it is named or left to the default is one entry.
    spelled = tuple(option.replace("--std=", "-std=") for option in every_option)
    given = (headers, files) if files else headers
    name = cache.key("module", _CACHE_FORMAT, text, entries, spelled, filename, given, nvrtc.build())
    output = _stored(cache.read(name), len(entries))
    if output is None:
        kept = () if files or headers else precompiled.options(text, every_option)
        output = nvrtc.run(text, filename, (*every_option, *kept), entries, dict(headers))
        if not output.succeeded:
            raise failed_compilation(
                output.log,
                source,
                filename,
                dict(headers),
                entries,
                ptx=lambda: nvrtc.run(text, filename, _to_ptx_only(every_option), entries, dict(headers)).ptx,
            )
        cache.write(name, _to_store(output))
    return output


def _includes(text: str, headers: tuple[tuple[str, str], ...], files: tuple[tuple[str, str], ...]) -> bool:
    """Whether a source, or what it includes, includes any file."""
    return bool(files) or bool(include_options(text, *(header for _, header in headers)))


def _asked_types(
    source: str,
    entry: str,
    arch: str,
    options: tuple[str, ...],
    filename: str,
    headers: tuple[tuple[str, str], ...],
) -> tuple[ParameterType, ...] | None:
    """The types of a kernel's parameters, which the compiler's front end is asked for."""
    text = portable.adapted(includes.without_those_in_comments(source)) + parameter_types.question(entry)
    files = files_included(source, options, filename, headers)
    every_option = _to_ptx_only(full_options(arch, options, includes=_includes(text, headers, files)))
    name = cache.key("types", _CACHE_FORMAT, text, every_option, filename, headers, files, nvrtc.build())
    stored = cache.read(name)
    if stored is not None and set(stored) == {"log"}:
        return parameter_types.answers(stored["log"].decode())
    log = nvrtc.run(text, filename, every_option, (), dict(headers)).log
    cache.write(name, {"log": log.encode()})
    return parameter_types.answers(log)


def _to_store(output: nvrtc.Output) -> dict[str, bytes]:
    facts = json.dumps({"log": output.log, "lowered_names": output.lowered_names})
    return {"facts": facts.encode(), "ptx": output.ptx.encode(), "cubin": output.cubin}


def _stored(parts: dict[str, bytes] | None, count: int) -> nvrtc.Output | None:
    if parts is None or set(parts) != {"facts", "ptx", "cubin"}:
        return None
    facts = json.loads(parts["facts"])
    if len(facts["lowered_names"]) != count:
        return None
    return nvrtc.Output(True, facts["log"], parts["ptx"].decode(), parts["cubin"], tuple(facts["lowered_names"]))


def _kernels(
    output: nvrtc.Output,
    source: str,
    entries: tuple[str, ...],
    arch: str,
    options: tuple[str, ...],
    filename: str,
    headers: tuple[tuple[str, str], ...],
) -> tuple[tuple[str, CompiledKernel], ...]:
    resources = cubin.kernel_resources(cubin.read(output.cubin))
    text = with_given_names(output.ptx, (filename, *(name for name, _ in headers)))
    spills = {name: (int(stores), int(loads)) for name, _, stores, loads in _SPILLS.findall(output.log)}
    texts = {filename: source, **dict(headers)}
    parsed = diagnostics.parse(output.log)
    warnings = [
        each for each in parsed if not each.is_error and each.filename in ("", *texts)
    ]  # none of CUDA's headers
    log = "\n\n".join(diagnostics.render(each, texts) for each in warnings)
    kernels = []
    for entry, lowered_name in zip(entries, output.lowered_names, strict=True):
        used = resources[lowered_name]
        stores, loads = spills.get(lowered_name, (0, 0))
        kernel = CompiledKernel(
            entry=entry,
            lowered_name=lowered_name,
            arch=arch,
            source=source,
            filename=filename,
            options=options,
            headers=headers,
            ptx=text,
            cubin=output.cubin,
            registers=used.registers,
            shared_bytes=used.shared_bytes,
            local_bytes=used.local_bytes,
            spill_store_bytes=stores,
            spill_load_bytes=loads,
            max_threads_per_block=used.max_threads_per_block,
            parameters=_parameters("\n".join(texts.values()), entry, used.parameters, options),
            parameter_base=used.parameter_base,
            compiler_version=nvrtc.version(),
            log=log,
        )
        kernels.append((entry, kernel))
    return tuple(kernels)


def _parameters(
    text: str, entry: str, places: tuple[tuple[int, int], ...], options: tuple[str, ...]
) -> tuple[Parameter, ...]:
    macros = [option[2:] for option in options if option.startswith("-D") and len(option) > 2]
    declared = signature.declared_parameters(text, entry, len(places), macros)
    named = declared or tuple(signature.Declared("", "") for _ in places)
    return tuple(
        Parameter(index, each.name or signature.unnamed(index), each.type, offset, size)
        for index, (each, (offset, size)) in enumerate(zip(named, places, strict=True))
    )


def _check_architecture(arch: str) -> None:
    match = _ARCHITECTURE.match(arch) if isinstance(arch, str) else None
    if not match or int(match[1]) not in nvrtc.supported_architectures():
        major, minor = nvrtc.version()
        raise UnknownArchitecture(
            f"{arch!r} is not an architecture that this compiler (NVRTC {major}.{minor}) knows. "
            f'It knows: {", ".join(architectures())}. Write it as "sm_90" for compute capability 9.0.'
        )


def check_texts(source: str, entries: Sequence[str] = ()) -> None:
    """Raise CompileError if a source or the names of its kernels are no texts."""
    if not isinstance(source, str):
        raise CompileError(
            f"the source is of type {type(source).__name__}; expected the CUDA C++ text itself, a str. "
            'For a file, give pathlib.Path("kernel.cu").read_text().'
        )
    if match := re.search(r"[\ud800-\udfff]|\0", source):
        line = source.count("\n", 0, match.start()) + 1
        raise CompileError(
            f"line {line} of the source holds {_character(match[0])}, which no file of text can hold: "
            'was it read with errors="surrogateescape", or from bytes that are no text? Delete it.'
        )
    for entry in entries:
        if not isinstance(entry, str) or not entry.strip() or re.search(r"[\ud800-\udfff]|[\0\n\r]", entry):
            raise CompileError(f'the kernel\'s name is {entry!r}; expected text such as "sgemm" or "sgemm<32>"')


def _character(character: str) -> str:
    """A character that may be invisible, in words."""
    return f"the character U+{ord(character):04X} ({unicodedata.name(character, 'half of a pair of characters')})"


def check_options(options: Sequence[str]) -> tuple[str, ...]:
    """The options as a tuple. Raises CompileError if they are none that a compilation here can have."""
    if isinstance(options, str):
        raise CompileError(f"options must be a tuple of strings such as ({options!r},), and this is one string")
    try:
        options = tuple(options)
    except TypeError:
        raise CompileError(
            f"options must be a tuple of strings such as ('-std=c++17',), and this is {options!r}"
        ) from None
    for option in options:
        if not isinstance(option, str):
            raise CompileError(f"the option {option!r} is of type {type(option).__name__}; options are strings")
        if re.search(r"[\ud800-\udfff]|\0", option):
            raise CompileError(f"the option {option!r} holds a character that no command line can hold")
        if option.startswith(_FOR_A_LINKER):
            raise CompileError(
                f"the option {option!r} makes an intermediate form for a linker, and no machine code that could be "
                "run, neither here nor by CuPy's RawModule. Leave it out; one source is compiled as a whole anyway."
            )
        if option.startswith(("-arch", "--gpu-architecture")):
            raise CompileError(
                f"the option {option!r} is not allowed here: CuPy adds its own -arch for the GPU it finds. "
                'Leave it out; without a GPU, give arch="sm_90" beside the options.'
            )
    return options


def check_headers(headers: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """The headers as (name, text). Raises CompileError if they are none."""
    if headers is None:
        return ()
    if not isinstance(headers, Mapping):
        raise CompileError(
            f"headers is of type {type(headers).__name__}; expected the texts by name: {{'tile.h': '…'}}"
        )
    for name, text in headers.items():
        if not isinstance(name, str) or not isinstance(text, str) or re.search(r"[\ud800-\udfff]|\0", name + text):
            raise CompileError(f"the header {name!r} is no text: both its name and what is in it are strings")
    return tuple(headers.items())
