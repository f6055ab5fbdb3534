"""NVRTC to PTX and machine code for any architecture, without a GPU."""

from gpusim.compiler.build import (
    CompiledKernel,
    Parameter,
    architectures,
    check_options,
    check_texts,
    compile,
    compile_module,
    files_included,
    include_options,
    module_variables,
    variables_in,
)
from gpusim.compiler.disassembly import disassemble
from gpusim.compiler.errors import (
    CompileError,
    CompilerError,
    CompilerMissing,
    DisassemblyError,
    NvdisasmMissing,
    UnknownArchitecture,
    UnknownKernel,
)
from gpusim.compiler.includes import allow as allow_includes, register as register_headers
from gpusim.compiler.lines import ptx_by_line, sass_by_line
from gpusim.compiler.parameter_types import ParameterType
from gpusim.compiler.portable import adapted
from gpusim.compiler.signature import kernel_names, parameter_names

__all__ = [
    "CompileError",
    "CompiledKernel",
    "CompilerError",
    "CompilerMissing",
    "DisassemblyError",
    "NvdisasmMissing",
    "Parameter",
    "ParameterType",
    "UnknownArchitecture",
    "UnknownKernel",
    "adapted",
    "allow_includes",
    "architectures",
    "check_options",
    "check_texts",
    "compile",
    "compile_module",
    "disassemble",
    "files_included",
    "include_options",
    "kernel_names",
    "module_variables",
    "parameter_names",
    "ptx_by_line",
    "register_headers",
    "sass_by_line",
    "variables_in",
]
