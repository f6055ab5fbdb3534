"""The explorer of notebook 15: a number, a bit to flip → what each format makes of it.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(...)` what both of them are made from.
"""

from __future__ import annotations

from helpers.pictures import theme
from helpers.pictures.bits.figure import FIGURE_HEIGHT, Row, bits_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.precisions import bits_of
from helpers.pictures.widgets import choice_slider

Flip = tuple[str, int]  # the part, and which of its bits
NONE: Flip = ("none", 0)
NUMBERS = (("π", 3.14159265), ("1/3", 1 / 3), ("0.1", 0.1), ("1", 1.0), ("−100", -100.0), ("1000.5", 1000.5),
           ("65520", 65520.0), ("1e-6", 1e-6), ("1e20", 1e20))  # fmt: skip
FLIPS: tuple[tuple[str, Flip], ...] = (
    ("none", NONE), ("sign", ("sign", 0)),
    *((f"exponent, 2^{bit}", ("exponent", bit)) for bit in range(7, -1, -1)),
    *((f"fraction, bit {bit}", ("fraction", bit)) for bit in range(1, 24)),
)  # fmt: skip


def picture_of(number: float, flip: Flip = NONE) -> theme.Figure:
    """The nearest number of each format, with one bit flipped where the format has it."""
    rows, without, whole = [], [], bits_of(number)
    for bits in whole:
        changed = bits if flip == NONE else bits.flipped(*flip)
        if changed is None:
            without.append(bits.format)
        position = None if flip == NONE or changed is None else _bit_of(bits.exponent, *flip)
        rows.append(Row(bits.format, (changed or bits).text, (changed or bits).value, position))
    name = next(name for name, bit in FLIPS if bit == flip)
    title = f"{number:.9g} in five formats" + ("" if flip == NONE else f", flipped: {name}")
    return bits_figure(rows, title, _caption(number, flip, rows, without))


def _bit_of(exponent: int, part: str, number: int) -> tuple[str, int]:
    """The part of the bits and the place in it, from its left."""
    return part, {"sign": 0, "exponent": exponent - 1 - number, "fraction": number - 1}[part]


def _caption(number: float, flip: Flip, rows: list[Row], without: list[str]) -> str:
    if flip == NONE:
        errors = ", ".join(f"{row.format} {_off(row.value, number)}" for row in rows[1:])
        return f"Rounded to the nearest number of the format it is off by: {errors}."
    sentence = f"In FP32 this bit makes {rows[0].value:.6g} of {number:.6g}."
    return sentence + (
        f" {', '.join(without)} {'has' if len(without) == 1 else 'have'} no such bit." if without else ""
    )


def _off(value: float, number: float) -> str:
    return "everything: it is no number there" if value - value != 0 else f"{abs(value / number - 1):.0e}"


class BitsExplorer(LiveExplorer):
    """Controls for the number and for the bit."""

    def __init__(self, number: float, flip: Flip) -> None:
        self.number = choice_slider("number", list(NUMBERS), number)
        self.flip = choice_slider("flip", list(FLIPS), flip)
        super().__init__("Explorer: a number bit by bit.", [[self.number, self.flip]], FIGURE_HEIGHT)

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.number.value, self.flip.value), "E4M3 is the float of 8 bits for products."


def explore(number: float = NUMBERS[0][1], flip: Flip = NONE) -> BitsExplorer:
    """The explorer, beginning with one of `NUMBERS` and one of `FLIPS`."""
    return BitsExplorer(number, flip)


def small_multiples() -> theme.Figure:
    """The static twin: π with bit 10 of the fraction flipped, the last that TF32 and FP16 have."""
    return picture_of(NUMBERS[0][1], ("fraction", 10))
