"""Kernels as they stand in books, samples and forums, made ready for NVRTC, which compiles device code alone.

nvcc compiles a file for the host, too, and what its headers bring is missing here: names such as `uint`, `uint32_t` and
`INFINITY`, and headers such as <cstdio> that a kernel does not need. `adapted` gives a source those names and takes
those lines out. No line of the source changes its number, and a source that needs nothing is returned as it is.
"""

from __future__ import annotations

import re

# Headers of the host whose device part NVRTC has built in (printf, assert, mathematical functions), or that are of no
# use in device code. Those of CUDA are not among them: they are found in the packages that set-up installs.
HOST_HEADERS = frozenset({
    "algorithm", "array", "assert.h", "cassert", "cfloat", "chrono", "climits", "cmath", "cstddef", "cstdint",
    "cstdio", "cstdlib", "cstring", "ctime", "ctype.h", "errno.h", "float.h", "fstream", "functional", "iomanip",
    "iostream", "limits", "limits.h", "malloc.h", "map", "math.h", "memory", "numeric", "random", "set", "sstream",
    "stddef.h", "stdexcept", "stdint.h", "stdio.h", "stdlib.h", "string", "string.h", "sys/time.h", "sys/types.h",
    "thread", "time.h", "tuple", "type_traits", "unistd.h", "utility", "vector", "cublas_v2.h", "cublas.h",
    "curand.h", "cusolverDn.h", "cufft.h", "cuda_runtime_api.h", "cuda.h", "helper_cuda.h", "helper_functions.h",
    "bitset", "cctype", "cinttypes", "cublasLt.h", "cuda_profiler_api.h", "cusparse.h", "deque", "exception",
    "helper_string.h", "helper_timer.h", "inttypes.h", "iterator", "list", "mutex", "new", "nvToolsExt.h",
    "nvtx3/nvToolsExt.h", "omp.h", "optional", "ostream", "queue", "ratio", "stack", "stdbool.h", "unordered_map",
    "unordered_set", "bits/stdc++.h",
})  # fmt: skip
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"][^\n]*$', re.MULTILINE)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

# What glibc's headers call these types (sys/types.h, stdint.h), with the types that they have on 64-bit Linux.
_TYPES = {
    "uint": "unsigned int", "ushort": "unsigned short", "ulong": "unsigned long", "uchar": "unsigned char",
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "intptr_t": "long", "uintptr_t": "unsigned long",
}  # fmt: skip
# math.h, float.h and limits.h (ISO C 5.2.4.2): values of the types that the GPU shares with the host.
_MACROS = {
    "INFINITY": "__int_as_float(0x7f800000)", "NAN": "__int_as_float(0x7fffffff)",
    "HUGE_VALF": "__int_as_float(0x7f800000)", "HUGE_VAL": "__longlong_as_double(0x7ff0000000000000LL)",
    "FLT_MAX": "3.402823466e+38F", "FLT_MIN": "1.175494351e-38F", "FLT_EPSILON": "1.192092896e-07F",
    "DBL_MAX": "1.7976931348623158e+308", "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "INT_MAX": "2147483647", "INT_MIN": "(-2147483647 - 1)", "UINT_MAX": "4294967295U", "CHAR_BIT": "8",
    "LLONG_MAX": "9223372036854775807LL", "LLONG_MIN": "(-9223372036854775807LL - 1)",
    "ULLONG_MAX": "18446744073709551615ULL", "LONG_MAX": "9223372036854775807L",
    "LONG_MIN": "(-9223372036854775807L - 1)", "ULONG_MAX": "18446744073709551615UL",
    "SHRT_MAX": "32767", "SHRT_MIN": "(-32768)", "USHRT_MAX": "65535", "SCHAR_MAX": "127", "SCHAR_MIN": "(-128)",
    "UCHAR_MAX": "255", "CHAR_MAX": "127", "CHAR_MIN": "(-128)",
    "INT8_MAX": "127", "INT8_MIN": "(-128)", "UINT8_MAX": "255", "INT16_MAX": "32767", "INT16_MIN": "(-32768)",
    "UINT16_MAX": "65535", "INT32_MAX": "2147483647", "INT32_MIN": "(-2147483647 - 1)", "UINT32_MAX": "4294967295U",
    "INT64_MAX": "9223372036854775807L", "INT64_MIN": "(-9223372036854775807L - 1)",
    "UINT64_MAX": "18446744073709551615UL", "SIZE_MAX": "18446744073709551615UL",
    "M_PI": "3.14159265358979323846", "M_PI_2": "1.57079632679489661923", "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154", "M_2_PI": "0.63661977236758134308", "M_2_SQRTPI": "1.12837916709551257390",
    "M_E": "2.7182818284590452354", "M_LOG2E": "1.4426950408889634074", "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942", "M_LN10": "2.30258509299404568402", "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
}  # fmt: skip
# What the host's compiler defines beneath those, `__FLT_MAX__`, and some programs write.
_MACROS |= {
    f"__{name}__": value
    for name, value in _MACROS.items()
    if name.startswith(("FLT_", "DBL_")) or name in ("INT_MAX", "CHAR_BIT", "SHRT_MAX", "SCHAR_MAX", "LONG_MAX")
}
# All of CUB has parts for the host, which NVRTC refuses. A kernel uses classes of a block or of a warp, each of which
# has a header of its own: BlockRadixSort is in cub/block/block_radix_sort.cuh.
_CUB = frozenset({
    "BlockAdjacentDifference", "BlockDiscontinuity", "BlockExchange", "BlockHistogram", "BlockLoad", "BlockMergeSort",
    "BlockRadixRank", "BlockRadixSort", "BlockReduce", "BlockRunLengthDecode", "BlockScan", "BlockShuffle",
    "BlockStore", "WarpExchange", "WarpLoad", "WarpMergeSort", "WarpReduce", "WarpScan", "WarpStore",
})  # fmt: skip
# Its functions, and the operators that are handed to its classes, are in headers that their names do not tell.
_CUB_FUNCTIONS = {
    "cub/block/block_load.cuh": (
        "LoadDirectBlocked", "LoadDirectBlockedVectorized", "LoadDirectStriped", "LoadDirectWarpStriped",
    ),
    "cub/block/block_store.cuh": (
        "StoreDirectBlocked", "StoreDirectBlockedVectorized", "StoreDirectStriped", "StoreDirectWarpStriped",
    ),
    "cub/thread/thread_load.cuh": ("ThreadLoad",),
    "cub/thread/thread_operators.cuh": ("ArgMax", "ArgMin", "Equality", "Inequality", "Max", "Min", "Sum"),
    "cub/thread/thread_reduce.cuh": ("ThreadReduce",),
    "cub/thread/thread_scan.cuh": ("ThreadScanExclusive", "ThreadScanInclusive"),
    "cub/thread/thread_store.cuh": ("ThreadStore",),
    "cub/util_ptx.cuh": ("LaneId", "LaneMaskLt", "ShuffleDown", "ShuffleIndex", "ShuffleUp", "WarpId"),
}  # fmt: skip
# What nvcc knows in namespace std, too, because the host's headers put it there: mathematical functions of CUDA, min
# and max, and types.
_OF_STD = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "isfinite",
    "isinf", "isnan", "ldexp", "lgamma", "llrint", "log", "log10", "log1p", "log2", "lrint", "lround", "max", "min",
    "nearbyint",
    "nextafter", "pow", "remainder", "rint", "round", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma",
    "trunc", "memcpy", "memset", "printf", "malloc", "free", "size_t", "ptrdiff_t",
    *(name for name in _TYPES if name.endswith("_t")),
})  # fmt: skip
_ASKED = (
    "arithmetic", "base_of", "const", "convertible", "enum", "floating_point", "integral", "pointer", "reference",
    "same", "signed", "trivially_copyable", "unsigned", "void",
)  # fmt: skip
_CHANGED = (
    "add_const", "add_pointer", "common_type", "conditional", "decay", "enable_if", "invoke_result", "make_signed",
    "make_unsigned", "remove_const", "remove_cv", "remove_pointer", "remove_reference", "underlying_type",
)  # fmt: skip
# What the host's headers have in namespace std for any code, and CUDA's C++ library for device code in cuda::std.
_OF_CUDA_STD = {
    "cuda/std/limits": ("numeric_limits",),
    "cuda/std/type_traits": (
        *(f"is_{name}{end}" for name in _ASKED for end in ("", "_v")),
        *(f"{name}{end}" for name in _CHANGED for end in ("", "_t")),
        "bool_constant", "false_type", "integral_constant", "true_type", "void_t",
    ),
    "cuda/std/utility": (
        "declval", "exchange", "index_sequence", "integer_sequence", "make_index_sequence", "make_pair", "pair", "swap",
    ),
    "cuda/std/array": ("array",),
    "cuda/std/tuple": ("get", "make_tuple", "tie", "tuple", "tuple_element_t", "tuple_size_v"),
    "cuda/std/cstddef": ("byte", "nullptr_t"),
    "cuda/std/functional": ("equal_to", "greater", "less", "minus", "multiplies", "plus"),
}  # fmt: skip
_STD = re.compile(r"\bstd\s*::\s*([A-Za-z_]\w*)")
_OTHER_STD = re.compile(r"\bcuda\s*::\s*std\b")
# Folders of NVIDIA's C++ libraries, and headers of CUDA that include them or spell their types as they do.
_CCCL = frozenset({
    "cuda", "cub", "thrust", "cooperative_groups", "cooperative_groups.h", "cuda_awbarrier.h", "cuda_pipeline.h",
})  # fmt: skip
_HEADERS = {
    "cuda_fp16.h": ("__half", "__half2", "half", "half2"),
    "cuda_bf16.h": ("__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "nv_bfloat162"),
    "math_constants.h": tuple(
        f"CUDART_{name}{end}" for name in ("INF", "NAN", "PI", "ZERO", "ONE") for end in ("", "_F")
    ),
}
# Complex numbers of the libraries that have parts for the host, or that only CuPy brings: those of CUDA's C++ library
# have the same names and lie in memory in the same way. Their functions, such as conj, are found by their arguments.
_COMPLEX = "#include <cuda/std/complex>"
_OF_COMPLEX = ("abs", "arg", "complex", "conj", "exp", "log", "norm", "polar", "pow", "sqrt")
_IN_PLACE_OF = {
    "cupy/complex.cuh": (_COMPLEX, "using cuda::std::complex;"),
    "thrust/complex.h": (
        _COMPLEX, f"namespace thrust {{ {' '.join(f'using cuda::std::{name};' for name in _OF_COMPLEX)} }}",
    ),
}  # fmt: skip


def adapted(source: str) -> str:
    """The source with what NVRTC lacks. Lines keep their numbers; `#line 1` follows what is put before them."""
    source = source.removeprefix("\ufeff")  # of a file that an editor of Windows wrote
    wanted = {name.strip() for name in _INCLUDE.findall(source)}
    dropped = HOST_HEADERS | {"cub/cub.cuh"} | _IN_PLACE_OF.keys()
    text = _INCLUDE.sub(lambda match: "" if match[1].strip() in dropped else match[0], source)
    code = _COMMENT.sub(" ", text)
    used = set(re.findall(r"\b[A-Za-z_]\w*\b", code))
    included = {name.strip() for name in _INCLUDE.findall(text)}
    of_std = set(_STD.findall(_OTHER_STD.sub(" ", code)))
    added = [f"#include <{header}>" for header in _headers_of_cub(used)] if "cub/cub.cuh" in wanted else []
    added += [
        f"#include <{header}>"
        for header, names in _HEADERS.items()
        if header not in included and used & set(names) and not _defines(code, names)
    ]
    for header, names in _OF_CUDA_STD.items():
        if wanted_of_it := sorted(of_std & set(names)):
            added.append(f"#include <{header}>")
            added.append(f"namespace std {{ {' '.join(f'using cuda::std::{name};' for name in wanted_of_it)} }}")
    for header in sorted(wanted & _IN_PLACE_OF.keys()):
        added += _IN_PLACE_OF[header]
    types = {name: type_ for name, type_ in _TYPES.items() if name in used and not _names(code, name)}
    folders = {name.split("/")[0] for name in (*wanted, *_INCLUDE.findall("\n".join(added)))}
    if folders & _CCCL:  # its headers spell some of these types otherwise
        fixed = [name for name in types if name.endswith("_t")]
        added += ["#include <cuda/std/cstdint>"] if fixed else []
        types = {name: type_ for name, type_ in types.items() if name not in fixed}
    added += [f"typedef {type_} {name};" for name, type_ in types.items()]
    if used_of_std := sorted(of_std & _OF_STD):
        added.append(f"namespace std {{ {' '.join(f'using ::{name};' for name in used_of_std)} }}")
    added += [
        f"#define {name} {value}"
        for name, value in _MACROS.items()
        if name in used and not re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b", code, re.MULTILINE)
    ]
    return "\n".join([*added, "#line 1", text]) if added else text


def _names(code: str, name: str) -> bool:
    """Whether the source itself says what a type's name means, or has a variable of that name."""
    said = rf"\btypedef\b[^;]*\b{name}\s*;|\busing\s+{name}\s*=|#[ \t]*define[ \t]+{name}\b"
    kinds = "int|float|unsigned|long|char|short|double|auto|bool|class|typename|struct|enum"
    return bool(re.search(rf"{said}|\b(?:{kinds})\s+{name}\b", code))


def _defines(code: str, names: tuple[str, ...]) -> bool:
    """Whether one of these names is the source's own: a variable called `half`, say."""
    return any(_names(code, name) for name in names)


def _headers_of_cub(used: set[str]) -> list[str]:
    """The headers of what a source uses of CUB, each once."""
    functions = {header for header, names in _CUB_FUNCTIONS.items() if used & set(names)}
    return sorted(functions | {_header_of(name) for name in _CUB & used})


def _header_of(name: str) -> str:
    """The header of a class of CUB."""
    words = re.findall("[A-Z][a-z]+", name)
    return f"cub/{words[0].lower()}/{'_'.join(words).lower()}.cuh"
