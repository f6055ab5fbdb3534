"""What a kernel's parameters are to the compiler: numbers, vectors of them, structs, and pointers to these.

A type that the source spells in C++'s or CUDA's own words is read from the text. Of any other, a typedef or an alias of
a template, the compiler is asked: its front end alone reads the source once more, with a declaration behind it whose
error message lists the sizes and kinds. That takes a third of a compilation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_INTEGERS = {
    "char": "i1", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2", "int": "i4",
    "unsigned int": "u4", "unsigned": "u4", "long": "i8", "unsigned long": "u8", "long long": "i8",
    "unsigned long long": "u8",
}  # fmt: skip
_OF_LANGUAGE = {**_INTEGERS, "bool": "b1", "float": "f4", "double": "f8"}
# Names of headers, which a source may also give to something else.
_OF_HEADERS = {
    **{f"{'u' * (kind == 'u')}int{8 * size}_t": f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)},
    "size_t": "u8", "ptrdiff_t": "i8", "cudaTextureObject_t": "u8", "cudaSurfaceObject_t": "u8",
    "__half": "f2", "half": "f2", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16",
}  # fmt: skip
_OF_VECTORS = {
    **{f"{'u' * (kind == 'u')}{name}": f"{kind}{size}" for kind in "iu"
       for name, size in (("char", 1), ("short", 2), ("int", 4), ("long", 8), ("longlong", 8))},
    "float": "f4", "double": "f8",
}  # fmt: skip
_VECTORS = {f"{name}{count}": (number, count) for name, number in _OF_VECTORS.items() for count in (1, 2, 3, 4)}
_PAIRS = {"half2": ("f2", 2), "__half2": ("f2", 2), "nv_bfloat162": ("bf16", 2), "__nv_bfloat162": ("bf16", 2)}
NOT_OF_NUMPY = {"bf16": "bfloat16", "fp8": "float8"}  # numbers whose bits are passed
_NOT_OF_TYPE = re.compile(r"\b(?:const|volatile|struct|enum|__restrict__)\b")


@dataclass(frozen=True)
class ParameterType:
    """How a parameter's value lies in memory, or what a pointer points to.

    Attributes:
        pointers: 0 for a value, 1 for a pointer, 2 for a pointer to pointers.
        number: NumPy's code of one number, "f4", "i8", "b1"; "bf16" and "fp8" for formats that NumPy lacks; "" for what
            is no number: a struct, or void.
        count: numbers in a value: 4 of a float4, 2 of a complex number.
        bytes_: the size of a value, 0 of void.
    """

    pointers: int
    number: str
    count: int
    bytes_: int

    @cached_property
    def dtype(self) -> np.dtype | None:
        """NumPy's type of one of the numbers in a value, or behind the pointer; None for structs and bytes of any kind.

        Of a format that NumPy lacks it is the unsigned integer that holds the bits.
        """
        if self.pointers > 1:
            return np.dtype(np.uint64)
        if self.number in NOT_OF_NUMPY:
            return np.dtype(f"u{self.bytes_ // self.count}")
        return np.dtype(self.number) if self.number else None


def from_text(text: str, source: str) -> ParameterType | None:
    """The type of a parameter that is declared as `text`; None where its words may mean anything."""
    pointers = text.count("*")
    name = " ".join(_NOT_OF_TYPE.sub(" ", text).replace("*", " ").split())
    if name == "void" and pointers:
        return ParameterType(pointers, "", 1, 0)
    number, count = _OF_LANGUAGE.get(name), 1
    if number is None:
        number = _OF_HEADERS.get(name)
        if number is None:
            number, count = {**_VECTORS, **_PAIRS}.get(name, (None, 1))
        if number is None or _is_named_by(source, name):
            return None
    size = 2 if number == "bf16" else int(number[1:])
    return ParameterType(pointers, number, count, size * count)


def _is_named_by(source: str, name: str) -> bool:
    """Whether the source itself gives the name a meaning."""
    return bool(re.search(rf"\b(?:typedef\b[^;]*|using\s+|struct\s+|class\s+|union\s+|define\s+){name}\b", source))


def is_defined_once(source: str, name: str) -> bool:
    """Whether there is one kernel of this name, so that its text is what is compiled; with `#if` there may be two."""
    return len(re.findall(rf"\b__global__\b[^;{{}}]*?\b{re.escape(name)}\s*\(", source)) == 1


# Kinds of numbers as the question's answer gives them.
_KINDS = {1: "i", 2: "u", 3: "f", 4: "b", 5: "bf16", 6: "fp8"}
_WORDS = {"i": 1, "u": 2, "f": 3, "b": 4}
_SHIFTS = {"pointers": 40, "bytes_": 16, "kind": 12, "count": 0}
_ANSWER = re.compile(r"__course_types<(.*?)>")
MARK = "__course_question"


def _number(cpp: str, kind: int, count: int = 1) -> str:
    return f"template <> struct __course_number<{cpp}> {{ enum {{ kind = {kind}, count = {count} }}; }};"


def question(entry: str) -> str:
    """C++ text that, behind the source, makes the compiler list the types of a kernel's parameters in an error."""
    numbers = [_number(name, _WORDS[code[0]]) for name, code in _OF_LANGUAGE.items() if name != "unsigned"]
    numbers += [_number(name, _WORDS[code[0]], count) for name, (code, count) in _VECTORS.items()]
    of_headers = {
        "__CUDA_FP16_TYPES_EXIST__": [_number("__half", 3), _number("__half2", 3, 2)],
        "__CUDA_BF16_TYPES_EXIST__": [_number("__nv_bfloat16", 5), _number("__nv_bfloat162", 5, 2)],
        "__CUDA_FP8_TYPES_EXIST__": [_number("__nv_fp8_e4m3", 6), _number("__nv_fp8_e5m2", 6)],
    }
    guarded = "\n".join(f"#ifdef {macro}\n{chr(10).join(lines)}\n#endif" for macro, lines in of_headers.items())
    return (
        "\n\n"  # the source may end in a comment
        f'#line 1 "{MARK}"\n'
        "template <class T> struct __course_number { enum { kind = 0, count = 1 }; };\n"
        f"{chr(10).join(numbers)}\n{guarded}\n"
        # complex<float> of any library: a template of one number with its type's name, and two of them in it
        "template <template <class> class C, class T> struct __course_number<C<T>> { enum {\n"
        "    count = sizeof(C<T>) == 2 * sizeof(T) ? 2 : 1,\n"
        "    kind = count == 2 && int(__course_number<T>::kind) == 3 ? 3 : 0 }; };\n"
        "template <class T, bool = __is_enum(T)> struct __course_plain { typedef T type; };\n"
        "template <class T> struct __course_plain<T, true> { typedef __underlying_type(T) type; };\n"
        "template <class T> struct __course_value { enum : long long {\n"
        f"    value = ((long long)sizeof(T) << {_SHIFTS['bytes_']})\n"
        f"        | (__course_number<typename __course_plain<T>::type>::kind << {_SHIFTS['kind']})\n"
        "        | __course_number<typename __course_plain<T>::type>::count }; };\n"
        "template <> struct __course_value<void> { enum : long long { value = 1 }; };\n"
        "template <class R, class... A> struct __course_value<R(A...)> { enum : long long { value = 1 }; };\n"
        "template <class T> struct __course_value<const T> : __course_value<T> {};\n"
        "template <class T> struct __course_value<volatile T> : __course_value<T> {};\n"
        "template <class T> struct __course_value<const volatile T> : __course_value<T> {};\n"
        "template <class T> struct __course_value<T *> { enum : long long {\n"
        f"    value = __course_value<T>::value + (1LL << {_SHIFTS['pointers']}) }}; }};\n"
        "template <class T, unsigned long long N> struct __course_value<T[N]> : __course_value<T> {};\n"
        "template <class T> struct __course_value<T *const> : __course_value<T *> {};\n"
        "template <class T> struct __course_value<T *volatile> : __course_value<T *> {};\n"
        "template <long long...> struct __course_types;\n"
        "template <class... A> __course_types<__course_value<A>::value...> __course_of(void (*)(A...));\n"
        f"decltype(__course_of(&{entry})) __course_answer;\n"
    )


def answers(log: str) -> tuple[ParameterType, ...] | None:
    """What the compiler answered to `question`; None if it did not understand it."""
    match = _ANSWER.search(log)
    if match is None or "..." in match[1]:
        return None
    return tuple(_answers([int(number) for number in re.findall(r"-?\d+", match[1].replace("LL", ""))]))


def _answers(values: list[int]) -> Iterator[ParameterType]:
    for value in values:
        pointers, size = value >> _SHIFTS["pointers"], value >> _SHIFTS["bytes_"] & 0xFFFFFF
        kind, count = _KINDS.get(value >> _SHIFTS["kind"] & 0xF, ""), value & 0xFFF
        number = f"{kind}{size // count}" if kind in _WORDS else kind
        yield ParameterType(pointers, number, count, size)
