"""`printf`, `assert`, `__trap()` and `__brkpt()` inside kernels (CUDA guide, 'Formatted Output' and 'Assertion')."""

import re
import sys

import numpy as np

from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from gpusim.errors import DeviceAssertion, OutOfBounds

NARROW = {"h": (np.int16, np.uint16), "hh": (np.int8, np.uint8)}
OUTPUT_LIMIT = 1 << 20  # the size of CUDA's own printf buffer, bytes
WIDEST_FIELD = 4095  # characters of one conversion: so many C promises, and a format may ask for a thousand million
_FORMAT = re.compile(r"%(?:%|([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAcsp]))")


class Output:
    """The buffer that the texts of one launch go through; `left` characters still fit."""

    def __init__(self, left: int = OUTPUT_LIMIT) -> None:
        self.left = left

    def write(self, text: str) -> None:
        """Print what fits, and once that something was left out."""
        if len(text) > self.left:
            more = "\n… more was printed than fits into the printf buffer.\n"
            text = text[: self.left] + more if self.left else ""
        self.left = max(0, self.left - len(text))
        sys.stdout.write(text)


class Held(Output):
    """The buffer of a launch that may be executed once more: nothing is printed before it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.texts.append(text)

    def release(self) -> None:
        """Print what was held."""
        for text in self.texts:
            super().write(text)


def _text(wave, address: int, block: int, thread: int, what: str) -> str:
    """The zero-terminated string at a generic address; OutOfBounds, of `what` a thread gave to printf, if none is."""
    if address >= LOCAL_WINDOW:
        data = wave.local.contents[:, block, thread].tobytes()[address - LOCAL_WINDOW :]
    elif address >= SHARED_WINDOW:
        data = wave.shared.contents[block].tobytes()[address - SHARED_WINDOW - wave.program.shared_base :]
    else:
        allocation = wave.global_memory.find(address)
        is_there = allocation is not None and address < allocation.end
        data = allocation.bytes_[address - allocation.base :].tobytes() if is_there else b""
    text, end, _ = data.partition(b"\0")
    if not end:
        where = f"the address {address:#x}, where no array is," if address else "a null pointer"
        if data:
            where = f"an array in which no byte 0 ends the text (at {address:#x})"
        wave.fail(
            OutOfBounds, f"gave printf {where} as {what}",
            "A text is a literal, or an array of char whose last one is 0.", block, thread,
        )  # fmt: skip
    return text.decode("utf-8", "replace")


def _call_parameter(wave, position: int) -> np.ndarray:
    """The position-th argument of the call, in the order in which the arguments were stored."""
    return list(wave.call_parameters.values())[position]


def vprintf(wave, registers, mask) -> None:
    """Print one text a thread, in the order of blocks and threads (on a GPU the order is not defined).

    Once the buffer is full nothing is formatted any more.
    """
    shape, output = wave.shape, wave.launch.output
    formats = np.broadcast_to(_call_parameter(wave, 0), shape).view(np.int64)
    buffers = np.broadcast_to(_call_parameter(wave, 1), shape)
    wave.call_parameters.clear()
    active = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
    for address in dict.fromkeys(formats[active].tolist() if output.left else ()):
        lanes = active & (formats == address)
        threads = np.argwhere(lanes).tolist()
        text = _text(wave, address, *threads[0], "its format")
        columns, offset = [], 0
        for item in _FORMAT.finditer(text):
            if item[0] == "%%":
                continue
            for star in (item[2], item[3]):
                if star == "*":
                    columns.append(_argument(wave, buffers, lanes, offset, np.dtype(np.int32)))
                    offset += 4
            dtype = _argument_type(item)
            offset = -(-offset // dtype.itemsize) * dtype.itemsize
            columns.append(_argument(wave, buffers, lanes, offset, dtype))
            offset += dtype.itemsize
        pieces, length = [], 0
        for row, thread in enumerate(threads):
            pieces.append(_formatted(wave, text, [column[row] for column in columns], *thread))
            length += len(pieces[-1])
            if length > output.left:
                break
        output.write("".join(pieces))


def _argument_type(item: re.Match) -> np.dtype:
    """How the argument of a conversion lies in the buffer (C's default promotions)."""
    length, conversion = item[4], item[5]
    if conversion in "eEfFgGaA":
        return np.dtype(np.float64)
    if conversion in "sp" or length in ("l", "ll", "z", "j", "t"):
        return np.dtype(np.int64 if conversion in "di" else np.uint64)
    return np.dtype(np.int32 if conversion in "dic" else np.uint32)


def _argument(wave, buffers, lanes, offset: int, dtype: np.dtype) -> np.ndarray:
    places = buffers.view(np.int64) - np.int64(LOCAL_WINDOW) + offset
    missing = np.argwhere(lanes & (places + dtype.itemsize > wave.local.size))
    if len(missing):
        wave.fail(
            OutOfBounds, "gave printf fewer values than its format prints",
            "Each % in the format takes a value behind it: %d an int, %f a float or a double, %lld a long long, and %% "
            "is a percent sign.", *missing[0].tolist(),
        )  # fmt: skip
    (values,) = wave.local.load(wave, places, lanes, dtype, 1)
    return np.broadcast_to(values, wave.shape)[lanes]


def _formatted(wave, text: str, values: list, block: int, thread: int) -> str:
    """C's printf for one thread."""
    remaining = iter(values)

    def replace(item: re.Match) -> str:
        if item[0] == "%%":
            return "%"
        flags, width, precision, length, conversion = item.groups()
        columns = int(next(remaining)) if width == "*" else int(width or 0)
        flags += "-" * (columns < 0)
        width = str(min(abs(columns), WIDEST_FIELD) or "")
        digits = int(next(remaining)) if precision == "*" else -1 if precision is None else int(precision)
        value = next(remaining)
        spec = f"%{flags}{width}" + (f".{min(digits, WIDEST_FIELD)}" if digits >= 0 else "")
        if conversion == "s":
            return (spec + "s") % _text(wave, int(value) & (2**63 - 1), block, thread, "the text of a %s")
        if conversion == "p":
            return (f"%{flags}{width}s") % hex(int(value))
        if conversion == "c":
            return (spec + "c") % chr(int(value) & 0xFF)
        if conversion in "aA":
            return re.sub(r"\.?0*p", "p", float(value).hex())
        if length in NARROW and conversion in "dioxXu":
            value = np.asarray(value).astype(NARROW[length][conversion not in "di"])
        if conversion == "u":
            conversion = "d"
        return (spec + conversion) % (float(value) if conversion in "eEfFgG" else int(value))

    return _FORMAT.sub(replace, text)


def assert_fail(wave, registers, mask) -> None:
    """A false `assert`: stop with its text."""
    shape = wave.shape
    message = int(np.broadcast_to(_call_parameter(wave, 0), shape).reshape(-1).view(np.int64)[0])
    wave.call_parameters.clear()
    block, thread = _first(wave, mask)
    what = f"failed the assertion `{_text(wave, message, block, thread, 'an assertion')}`"
    wave.fail(DeviceAssertion, what, "Print the values in it with printf to see why it is false.", block, thread)


def trap(wave, registers, mask) -> None:
    """`__trap()`: the kernel asked to be stopped; or `__brkpt()`, which does so where no debugger is.

    In machine code both are one instruction, so that the line of the source says which it is.
    """
    block, thread = _first(wave, mask)
    name = "__trap()"
    advice = "__trap() marks what must not happen: look at the condition that leads to it."
    if "brkpt" in wave.launch.quote(wave.instruction.line):
        name = "__brkpt()"
        advice = "There is no debugger here, and a GPU stops there without one, too: leave it out, or use printf."
    elif any("this_grid" in line for line in wave.program.source_lines):
        advice = (
            "grid.sync() does so in a launch that is not cooperative: compile the kernel by "
            "RawModule(code=…, enable_cooperative_groups=True)."
        )
    elif wave.program.source_lines and not any("trap" in line for line in wave.program.source_lines):
        name = "a trap that the compiler put there"
        advice = "The compiler does so where a statement has no defined meaning, as behind a pointer that is never set."
    wave.fail(DeviceAssertion, f"stopped the kernel with {name}", advice, block, thread)


def _first(wave, mask) -> tuple[int, int]:
    active = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
    block, thread = np.argwhere(active)[0]
    return int(block), int(thread)
