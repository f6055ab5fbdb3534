"""A failed compilation, explained to the author of the source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from gpusim.compiler import diagnostics, grammar, signature
from gpusim.compiler.diagnostics import Diagnostic
from gpusim.compiler.errors import CompileError, UnknownKernel

_MAX_ERRORS_SHOWN = 5
_MAX_NOTES_SHOWN = 4
_UNKNOWN_OPTION = re.compile(r"unrecognized option (.+) found\s*$", re.MULTILINE)
_SHARED_OVERFLOW = re.compile(r"uses too much shared data \(0x([0-9a-f]+) bytes, 0x([0-9a-f]+) max\)")
_CONSTANT_OVERFLOW = re.compile(r"uses too much global constant data \(0x([0-9a-f]+) bytes, 0x([0-9a-f]+) max\)")
# What editors, chats and PDFs put in place of the characters that C++ knows.
_MEANT = {
    character: plain
    for plain, characters in {
        '"': "\u201c\u201d\u201e\u00ab\u00bb\u2033\uff02", "'": "\u2018\u2019\u201a\u2032\u00b4",
        "-": "\u2212\u2013\u2014\u2010\u2011\uff0d", "*": "\u00d7\u2217\u22c5\u00b7", "/": "\u00f7\u2215\u2044",
        "<=": "\u2264", ">=": "\u2265", "!=": "\u2260", ";": "\uff1b\u037e", ",": "\uff0c", "(": "\uff08",
        ")": "\uff09", "+": "\uff0b", "=": "\uff1d", "...": "\u2026",
    }.items()
    for character in characters
}  # fmt: skip
_UNDEFINED_FUNCTION = re.compile(r"Unresolved extern function")
_MISSING_HEADER = re.compile(r'(?:cannot|could not) open source file "(.*?)"')
_HOST_CODE = re.compile(
    r'identifier "((?:(?:cuda[A-Z]|cu(?:blas|dnn|rand|sparse)|CU(?:BLAS|DNN|RAND|SPARSE)_|std::chrono)\w*'
    r'|atoi|atof|fprintf|stderr|stdout|exit|s?rand|fopen|RAND_MAX))" is undefined'
    r'|namespace "std" has no member "((?:cout|cerr|endl|vector|string|chrono|mt19937|ifstream|ofstream))"'
)
_OWN_HEADER = re.compile(
    r"(?!cu[bd]|mma|cooperative_groups|thrust|nv/|crt/|sm_|device_|vector_|math|nvtx|std)[\w./-]+\.\w+$"
)
_END_OF_LINE_BEFORE = re.compile(r'expected a ";"')
_TWO_INDICES = "expression must have pointer-to-object type but it has type"
_LOOP_OF_PYTHON = re.compile(r"^\s*for\s+(\w+)\s+in\b\s*(?:range\s*\(([^)]*)\))?")
_BLOCK_OF_PYTHON = re.compile(
    r"^\s*(?:(?P<elif>elif)\b|(?P<bare>if|while)\s+(?!constexpr\b)[^\s(]|(?P<colon>if|else|while)\b[^?]*:\s*(?://.*)?$)"
)
_ASSIGNMENT = re.compile(r"^\s*(?:for\s*\(\s*)?(\w+)\s*=[^=]")
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_WORDS_OF_PYTHON = {"True": "true", "False": "false", "None": "nullptr"}
_MANGLED = re.compile(r"'_Z\w+'")
_MANGLED_NAME = re.compile(r"_ZN?(\d+)([A-Za-z_]\w*)")
_PTX_PLACE = re.compile(r"\bptx input, line (\d+)")
_PTX_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_FOLLOWS_FROM_OTHERS = "Ptx assembly aborted due to errors"
# PTX instructions that one family of GPUs has, or that newer ones lack, and what is to be said of them.
_NOT_ON_ALL_GPUS = {
    "wgmma": 'Products of warp groups (wgmma) are Hopper\'s alone, arch="sm_90a": neither older nor newer GPUs have '
    "them. mma.sync and nvcuda::wmma multiply matrices on all.",
    "tcgen05": 'tcgen05 is of Blackwell for data centres alone, arch="sm_100a": GeForce and RTX GPUs (sm_120) lack it. '
    "mma.sync and nvcuda::wmma multiply matrices on all.",
    "vote": "__any, __all and __ballot are of before CUDA 9. Name the threads of the warp that take part, "
    "0xffffffff for all: __ballot_sync(0xffffffff, …).",
}
_MATHEMATICAL = "|".join((
    "acos", "asin", "atan2?", "cbrt", "ceil", "copysign", "cosh?", "erfc?", "exp2?", "expm1", "fabs", "fdim", "floor",
    "fma", "fmax", "fmin", "fmod", "hypot", "l?lrint", "log", "log10", "log1p", "log2", "nextafter", "pow", "remainder",
    "rint", "round", "sinh?", "sqrt", "tanh?", "trunc",
))  # fmt: skip
# What the compiler's words leave open, by a pattern of its message and one of the line that it is about.
_HINTS = tuple((re.compile(message), re.compile(line), hint) for message, line, hint in (
    (
        r'identifier "(__shfl(?:_up|_down|_xor)?)" is undefined', "",
        r"\1 is of before CUDA 9. Name the threads of the warp that take part, 0xffffffff for all: "
        r"\1_sync(0xffffffff, …).",
    ),
    (
        r"(texture|surface) is not a template", "",
        r"References such as \1<float, 2> went with CUDA 12. A kernel takes a \1 as a parameter, as a number of type "
        r"unsigned long long that its functions know it by (cudaTextureObject_t, cudaSurfaceObject_t): "
        r"tex2D<float>(tex, x, y). gpu.cuda.texture makes them.",
    ),
    (
        "declaration is incompatible with previous", "extern.*__shared__",
        "All arrays that are extern __shared__ are the same memory, and those of one name must be of one type, in all "
        "kernels and all instantiations of a source. Declare one of bytes, and a pointer to it of the type: "
        "extern __shared__ __align__(16) unsigned char bytes[]; T *tile = reinterpret_cast<T *>(bytes);",
    ),
    (
        "expression must have a constant value", r"\b(?!return\b)\w+\s+\w+\s*\[",
        "An array has a size that is known when the kernel is compiled: a number, a macro, a constexpr, a template "
        "parameter. Shared memory alone may get its size at the launch: extern __shared__ float tile[]; with "
        "shared_mem=….",
    ),
    (
        r'more than one instance of (?:overloaded function|function template) "(?:std::)?(' + _MATHEMATICAL + ')"', "",
        r"NVRTC, unlike nvcc with the host's headers, has \1 for arguments of one type alone, float or double. Write "
        r"numbers as floats, 2.0f for 2.0 (which is also much faster), and static_cast<float>(n) "
        r"for an integer n.",
    ),
    (
        "annotation on lambda requires --extended-lambda", "",
        "In a kernel a lambda is device code anyway: leave __device__ out.",
    ),
))  # fmt: skip
# Headers of C++ that device code finds under cuda/std.
_OF_CUDA_STD = frozenset(("atomic", "barrier", "bit", "complex", "concepts", "latch", "numbers", "semaphore", "span"))


def failed_compilation(
    log: str, source: str, filename: str, headers: Mapping[str, str], entries: Sequence[str], ptx: Callable[[], str]
) -> CompileError:
    """The error to raise for NVRTC's ``log``: the compiler's messages under the lines that they are about.

    ``ptx`` is called, and makes the PTX of the source, only when the assembler complains about one of its lines.
    """
    if unknown := _UNKNOWN_OPTION.search(log):
        return CompileError(_unknown_option(unknown[1]))
    groups = _errors_with_notes(diagnostics.parse(log))
    about_source = [group for group in groups if group[0].filename != diagnostics.NAME_MAP]
    if groups and not about_source:
        errors = [group[0] for group in groups]
        unknown = _unknown_kernel(errors, source, entries)
        unknown.entries = frozenset(_asked(error, entries) for error in errors)
        return unknown
    if not about_source:
        return CompileError(log.strip())

    texts = {filename: source, **headers}
    if any(_PTX_PLACE.search(group[0].message) for group in about_source):
        return CompileError(_assembler_errors(about_source, texts, filename, ptx()))
    shown, about_source, of_the_host = [], *_host_code_apart(about_source)
    errors = [error for error, *_ in about_source]
    about_source = [group for group in about_source if not grammar.follows_from_unknown_name(group[0], errors)]
    if about_source and _python_line(about_source[0][0], texts):
        about_source = about_source[:1]  # the others follow from it
    elif shown_error := _punctuation(about_source[0][0], texts, filename):
        return CompileError(shown_error)
    different = {error.message: (error, notes) for error, *notes in reversed(about_source)}
    of_each = [different[message] for message in dict.fromkeys(error.message for error, *_ in about_source)]
    for error, notes in of_each[:_MAX_ERRORS_SHOWN]:
        paragraphs = [diagnostics.render(each, texts) for each in (error, *_few(notes))]
        hints = _hints_on_python(error, texts) or ([] if _is_declared_wrong(error, errors) else _hints(error, headers))
        also = {
            diagnostic.line
            for diagnostic, *_ in about_source
            if diagnostic.message == error.message and diagnostic.line
        } - {error.line}
        more = [f"    The same in {_lines(sorted(also))}."] if also else []
        shown.append("\n".join(paragraphs + hints + more))
    left = len(of_each) - len(shown)
    if left > 0:
        shown.append(f"… and {left} more {'error' if left == 1 else 'errors'}; the first one is often their cause")
    if of_the_host:
        shown.append(
            f"Host code, too: {_lines(of_the_host)}. Leave out main and every other function that runs on the CPU."
        )
    return CompileError(_MANGLED.sub(_plain_name, "\n\n".join(shown)))


def _punctuation(error: Diagnostic, texts: Mapping[str, str], filename: str) -> str:
    """The one error that shows where the punctuation of the source breaks off, "" if it does not."""
    if error.filename != filename or _hints_on_python(error, texts):
        return ""
    shown_error = grammar.cause(error, texts[filename])
    return "\n".join((diagnostics.render(shown_error[0], texts), shown_error[1])) if shown_error else ""


def _unknown_option(option: str) -> str:
    """What to say of an option that NVRTC, unlike nvcc, does not know."""
    text = (
        f"NVRTC, the compiler that CuPy's RawModule and the simulator use, does not know the option {option!r}; it has "
        "fewer than nvcc."
    )
    name, _, value = option.partition(" ")
    if value:
        return f"{text} Each option is a string of its own, with its value behind '=': {name + '=' + value!r}."
    if re.match(r"-O\d?$|--optimize", option):
        return (
            f"{text} Without any, code is optimised as by nvcc's -O3. For code that is not optimised at all write '-G'"
            "; '--ptxas-options=-O0' turns off what the assembler does, the second half of the compiler."
        )
    if option in ("-g", "--debug"):
        return f"{text} That is for code of the CPU: for the GPU's write '-G', or '-lineinfo' for source lines alone."
    return f"{text} Leave it out."


def _host_code_apart(groups: Sequence[list[Diagnostic]]) -> tuple[list[list[Diagnostic]], list[int]]:
    """(the errors without those that only repeat that there is host code, the lines of these)."""
    first = next((group for group in groups if _HOST_CODE.search(group[0].message)), None)
    others = [group for group in groups if group is not first and _HOST_CODE.search(group[0].message)]
    lines = {group[0].line for group in others if group[0].line is not None}
    return [group for group in groups if group not in others], sorted(lines)


def _python_line(error: Diagnostic, texts: Mapping[str, str]) -> str | None:
    """What C++ has in place of a line that begins a block in Python; None for other lines."""
    line = diagnostics.source_line(error, texts) or ""
    if loop := _LOOP_OF_PYTHON.match(line):
        first, last, step = _range_of_python(loop[2])
        name = loop[1]
        moves = f"++{name}" if step == "1" else f"{name} += {step}"
        return f"    That is a loop of Python. In C++: for (int {name} = {first}; {name} < {last}; {moves}) {{ … }}"
    if block := _BLOCK_OF_PYTHON.match(line):
        word = next(group for group in block.groups() if group)
        if word == "else":
            return "    That is an else of Python. In C++ braces hold what belongs to it: else { … }"
        instead = word.replace("elif", "else if")
        return f"    In C++ a condition stands in brackets and what depends on it in braces: {instead} (…) {{ … }}"
    return None


def _hints_on_python(error: Diagnostic, texts: Mapping[str, str]) -> list[str]:
    """What C++ writes instead, for lines that a Python programmer writes without thinking."""
    line = diagnostics.source_line(error, texts) or ""
    lines = texts.get(error.filename, "").split("\n")
    before = lines[error.line - 2] if error.line is not None and 1 < error.line <= len(lines) + 1 else ""
    if begins_a_block := _python_line(error, texts):
        return [begins_a_block]
    if re.match(r"^\s*#", line) and "preprocess" in error.message:
        return ["    In C++ a comment begins with //, not with #."]
    if _END_OF_LINE_BEFORE.search(error.message) and re.search(r"[\w)\]]\s*//\s*[\w.]+\s*;+\s*$", before):
        return ["    In C++ // begins a comment. Whole numbers are divided with /, which rounds down."]
    undefined = _UNDEFINED.search(error.message)
    if undefined is None:
        return []
    name = undefined[1]
    if name in _WORDS_OF_PYTHON:
        return [f"    {name} is a word of Python. In C++: {_WORDS_OF_PYTHON[name]}."]
    if (assigned := _ASSIGNMENT.match(line)) and assigned[1] == name:
        return [
            f"    In C++ a variable is declared with its type when it gets its first value: int {name} = … for a whole "
            f"number, float {name} = … for a number with a fraction."
        ]
    return []


def _range_of_python(arguments: str | None) -> tuple[str, str, str]:
    """First, end and step of range(…); … for what it does not say."""
    parts = [part.strip() for part in (arguments or "").split(",") if part.strip()]
    if len(parts) == 1:
        return "0", parts[0], "1"
    if len(parts) in (2, 3):
        return parts[0], parts[1], (*parts, "1")[2]
    return "0", "…", "1"


def _lines(numbers: Sequence[int]) -> str:
    """'line 4', 'lines 4, 9, 12, …'"""
    some = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return f"line{'' if len(numbers) == 1 else 's'} {some}"


def _few(notes: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The notes on an error; of the many functions of a header that would have had the name none."""
    return notes if len(notes) <= _MAX_NOTES_SHOWN else ()


def _errors_with_notes(errors: Sequence[Diagnostic]) -> list[list[Diagnostic]]:
    groups: list[list[Diagnostic]] = []
    last_is_error = False
    for each in errors:
        if each.is_error:
            groups.append([each])
        elif each.severity == "note" and last_is_error:
            groups[-1].append(each)
            continue
        last_is_error = each.is_error
    return groups


def _hints(error: Diagnostic, headers: Mapping[str, str]) -> list[str]:
    """What to try, for the messages that say too little to a learner."""
    if overflow := _SHARED_OVERFLOW.search(error.message):
        used, most = (int(number, 16) for number in overflow.groups())
        return [
            f"    The __shared__ arrays take {used} bytes; arrays of fixed size may take {most} bytes a block. "
            "Use smaller tiles, or dynamic shared memory (extern __shared__) for more."
        ]
    if overflow := _CONSTANT_OVERFLOW.search(error.message):
        used, most = (int(number, 16) for number in overflow.groups())
        return [
            f"    The __constant__ variables take {used} bytes; a module may have {most}. Keep the rest in an "
            "array that the kernel is given: const float *__restrict__ table."
        ]
    if error.message == "unrecognized token" and (character := _foreign_character(error)):
        return [character]
    if "/thrust/" in error.filename:
        return [
            "    Thrust's functions are called by host code, as CuPy's are (gpu.sum and others), and NVRTC refuses its "
            "headers but for <thrust/complex.h>. In a kernel, classes of CUB sort, scan and reduce for a block: "
            "cub::BlockRadixSort, cub::BlockScan, cub::BlockReduce."
        ]
    for message, line, hint in _HINTS:
        if (match := message.search(error.message)) and line.search(error.echo or ""):
            return [f"    {match.expand(hint)}"]
    if _TWO_INDICES in error.message:
        name = _before_bracket(error)
        if name and (many := re.search(rf"\b{name}\s*((?:\[[^][]*\]\s*){{3,}})", error.echo or "")):
            return [f"    {name} is given {many[1].count('[')} indices here, and has fewer: look at its declaration."]
        if name and not re.search(rf"\b{name}\s*\[(?:[^][]|\[[^][]*\])*\]\s*\[", error.echo or ""):
            return [f"    {name} is a single number and has no index: look at its declaration."]
        return [
            f"    {name} points to the first of a line of numbers, and has one index: element (row, col) of rows that "
            f"are W numbers long is {name}[row * W + col]."
            if name
            else "    What stands before the [ is one number. An array that the kernel was given has one index: row by "
            "row, element (row, col) is C[row * N + col]."
        ]
    if _UNDEFINED_FUNCTION.search(error.message):
        return ["    The source declares this function and calls it, but never defines it."]
    if (host := _HOST_CODE.search(error.message)) or "device-side kernel launch" in error.message:
        what = (host[1] or f"std::{host[2]}") if host else "<<< >>>"
        return [
            f"    {what} is host code: to allocate, to copy and to launch is Python's part here. Keep the kernel alone "
            "in the source; gpu.RawModule compiles it, gpu.asarray copies, and calling the kernel launches it."
            + (" (Kernels that launch kernels, dynamic parallelism, are not modelled.)" if host is None else "")
        ]
    missing = _MISSING_HEADER.search(error.message)
    if missing and missing[1].startswith("curand_"):
        return [
            f"    {missing[1]} belongs to cuRAND, which the course does not install: `%pip install nvidia-curand-cu12` "
            "in a cell brings it (70 MB); then restart the kernel. For a few random numbers a hash of the thread's "
            "number is enough."
        ]
    if missing and not headers and _OWN_HEADER.match(missing[1]):
        return [
            f"    {missing[1]} is a file of the project that this source comes from, and it is not here. Delete the "
            "line, and paste what the kernel uses of that file."
        ]
    if missing and missing[1] in _OF_CUDA_STD:
        return [f"    Device code finds it as <cuda/std/{missing[1]}>, with its names in cuda::std."]
    if missing:
        given = f"The headers given are: {', '.join(headers)}. " if headers else ""
        return [
            f"    NVRTC found no {missing[1]}. {given}It compiles device code alone, without the C and C++ standard "
            "headers; functions such as sqrtf, fmaf and printf need no #include. CUDA's own headers, such as "
            "cuda_fp16.h and mma.h, come with the course: if they are missing, `make lab` sets it up again."
        ]
    return []


def _is_declared_wrong(error: Diagnostic, errors: Sequence[Diagnostic]) -> bool:
    """Whether an array has another type than was meant, because the line that declares it has an error of its own."""
    name = _before_bracket(error) if _TWO_INDICES in error.message else ""
    lines = [each.echo or "" for each in errors if each.line and error.line and each.line < error.line]
    return bool(name) and any(re.search(rf"\w\s+{name}\s*\[", line) for line in lines)


def _before_bracket(error: Diagnostic) -> str:
    """The name that an error on indices points at, "" if it points at none."""
    match = re.match(r"(\w+)\s*\[", (error.echo or "")[(error.column or 1) - 1 :])
    return match[1] if match else ""


def _foreign_character(error: Diagnostic) -> str | None:
    """Which character it is that C++ does not know, where it stands, and what was meant by it."""
    line = error.echo or ""
    column = next(
        (column for column in range(max(0, (error.column or 1) - 1), len(line)) if not " " <= line[column] <= "~"), None
    )
    if column is None or line[column] == "\t":
        return None
    character = line[column]
    described = f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()
    is_seen = character.isprintable() and unicodedata.category(character) != "Zs"
    what = f"{character} ({described})" if is_seen else f"{described}, which cannot be seen"
    instead = _MEANT.get(character) or ("" if is_seen else "a space, or nothing,")
    advice = f"Write {instead} instead." if instead else "Outside of texts and comments C++ has plain letters alone."
    return f"    In column {column + 1} stands {what}; C++ has no such character. {advice}"


def _assembler_errors(groups: Sequence[list[Diagnostic]], texts: Mapping[str, str], filename: str, ptx: str) -> str:
    """Errors that ptxas found in the PTX, usually in inline ``asm``: the PTX line, and the source line it is from."""
    ptx_lines = ptx.split("\n")
    shown = []
    for error, *_ in groups:
        match = _PTX_PLACE.search(error.message)
        if not match:
            if _FOLLOWS_FROM_OTHERS not in error.message:
                shown.append(diagnostics.render(error, texts))
            continue
        number = int(match[1])
        message = error.message.rsplit("line " + match[1], 1)[1].lstrip(":;, ")
        line = _source_line(ptx_lines[:number])
        at = Diagnostic("error", f"ptxas, the assembler: {message}", filename if line else "", line)
        paragraph = diagnostics.render(at, texts)
        if number <= len(ptx_lines):
            paragraph += f"\n    in the PTX: {ptx_lines[number - 1].strip()}"
        shown.append(paragraph)
    messages = " ".join(error.message for error, *_ in groups if "Instruction '" in error.message)
    hints = [hint for name, hint in _NOT_ON_ALL_GPUS.items() if f"'{name}" in messages]
    return "\n\n".join(shown + hints)


def _source_line(ptx_lines: Sequence[str]) -> int | None:
    """The source line of the last of these PTX lines; its column is too rough to show."""
    lines = (int(match[1]) for text in reversed(ptx_lines) if (match := _PTX_LOC.match(text)))
    return next((line for line in lines if line), None)


def _plain_name(match: re.Match) -> str:
    """``'k'`` for ``'_Z1kPf'``, in the way the compiler mangles names of functions that are in no class."""
    mangled = _MANGLED_NAME.match(match[0].strip("'"))
    return f"'{mangled[2][: int(mangled[1])]}'" if mangled else match[0]


def _unknown_kernel(errors: Sequence[Diagnostic], source: str, entries: Sequence[str]) -> UnknownKernel:
    """Explain why NVRTC could not look up a name expression."""
    asked = _asked(errors[0], entries)
    has = _kernels_of(source)
    same_name = [each for each in signature.signatures(source) if each.name == signature.base_name(asked)]
    if any("non-__global__" in each.message for each in errors):
        return UnknownKernel(f"{asked} is not a kernel: this source declares it without __global__; {has}")
    if not same_name:
        return UnknownKernel(f"no kernel called {asked} in this source; {has}")
    if same_name[0].template and "<" not in asked:
        example = ", ".join("8" for _ in same_name[0].template)
        return UnknownKernel(
            f"{asked} is a template, {same_name[0].usage}: write it without template, or say which instantiation is "
            f'meant, in the way of "{asked}<{example}>"'
        )
    if len(same_name) > 1 and any("overloaded" in each.message for each in errors):
        return UnknownKernel(
            f"this source has {len(same_name)} kernels called {asked}, and it is not clear which is meant; "
            "give each its own name"
        )
    inside = list(dict.fromkeys(kernel.within for kernel in same_name if kernel.within))
    if "::" not in asked and inside:
        names = " or ".join(f'"{namespace}::{asked}"' for namespace in inside)
        return UnknownKernel(f"{asked} is in a namespace: its name is {names}")
    if "::" not in asked and all(not kernel.within for kernel in same_name):
        return UnknownKernel(
            f"the compiler did not see {asked}: does it stand between #if or #ifdef and #endif? A macro that it needs "
            f'is defined in the source, or by an option, options=("-DNAME",). Else: {errors[0].message}; {has}'
        )
    return UnknownKernel(f"{asked} does not name a kernel of this source: {errors[0].message}; {has}")


def _asked(error: Diagnostic, entries: Sequence[str]) -> str:
    """The entry that a name-map diagnostic is about; the compiler echoes it with its own spacing."""
    echoed = "".join((error.echo or "").split()[2:])
    return next((entry for entry in entries if "".join(entry.split()) == echoed), entries[0])


def _kernels_of(source: str) -> str:
    names = signature.kernel_names(source)
    return f"it has: {', '.join(names)}" if names else "it has no __global__ function"
