"""The course's one visual language: colours with fixed meanings, type that reads from the back of a room, one size.

A figure is a `theme.Figure`, never pyplot's: no list of open figures holds it, so it is freed with its last reference
and a slider moved a thousand times leaks nothing. It carries its caption, the sentence that states the number. A
notebook shows it as a PNG of one width; the caption travels with it as text, so comparing outputs compares the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from helpers.pictures.figures import Figure, caption_height, in_few_colours, ink_on, style, to_png  # noqa: F401

# The hues of Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), which stay distinct for every common colour
# blindness, each so dark that it stands out from the paper by 3 to 1 and, where letters have it, by 4.5 to 1.
# The meaning of a colour is the same in every notebook. `in_the_dark` says what becomes of it on a dark page.
A = "#084594"  # blue: matrix A
B = "#C4880D"  # amber: matrix B
C = "#018264"  # green: matrix C
WARP = "#A0469F"  # purple: the selected warp
TROUBLE = "#CD4022"  # red: trouble
REFERENCE = "#3E9BC6"  # sky blue: what is compared with: another kernel, cuBLAS, a roof, a formula
SPEED = "#46566B"  # slate: GFLOPS, the length of a bar or the height of a dot
ARRAY_COLOURS: Mapping[str, str] = {"A": A, "B": B, "C": C}
ARRAY_NAMES: Mapping[str, str] = {"A": A, "B": "#996700", "C": C}  # letters on paper that stand for an array

LEVELS: Mapping[str, str] = {"sass": "machine code", "ptx": "PTX"}  # what is executed and counted, in words

ON_B = "#3D2600"  # letters on the colour of B, on which neither white ones nor ink can be read on a dark page
INK = "#141414"  # text and axes
MUTED = "#5F5F5F"  # second-rank text: 6.4 to 1 on paper, so it still reads from the back
FAINT = "#D9D9D9"  # rules and empty places
WASTE = "#8C8C8C"  # the hatching of what was moved and not used
WASTE_FILL = "#EFEFEF"
WASTE_HATCH = "//////"
PAPER = "#FFFFFF"  # opaque: who does not know `in_the_dark` still sees a card that can be read on a dark page

# 900 CSS pixels fit beside JupyterLab's file browser on a 1280 pixel laptop; 144 dpi is 1.44 pixels for each of them.
WIDTH = 9.0  # inches, of every figure
MOST_RUNS = 4  # of numbers, that are named in words
CSS_DPI = 100  # inches to CSS pixels
DPI = 144  # inches to the PNG's pixels

TITLE = 14.0  # points; at CSS_DPI a point is 1.4 pixels
TEXT = 12.0
SMALL = 10.0

_least = 0.0  # points, see `at_least`
_LUMA = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue


@contextmanager
def at_least(points: float) -> Iterator[None]:
    """Figures that are drawn inside have no letters below this size: for a slide, which is seen from the last row.

    Holds for what `page.text` writes and for axes; whoever draws for a slide looks whether letters meet.
    """
    global _least
    before, _least = _least, points
    try:
        yield
    finally:
        _least = before


def size(points: float) -> float:
    """The size of letters for which so many points are meant."""
    return max(points, _least)


def in_the_dark(colours: np.ndarray) -> np.ndarray:
    """(…, 3) colours of a picture, 0 … 1 in sRGB, as a dark page shows them: the browsers' filter in NumPy.

    Light and dark change places and hues stay: paper becomes JupyterLab's dark page, ink light grey. The warm colours,
    B and trouble, only become a little brighter, and letters in ON_B stay dark. So a picture is drawn and stored once.
    The filter is `helpers/jupyter/cuda_cells/src/dark.svg`.
    """
    colours = np.asarray(colours, float)
    red, _, blue = np.moveaxis(colours, -1, 0)
    turned = np.clip(colours + 0.94 - 1.873 * (colours @ _LUMA)[..., None], 0, 1)
    kept = np.clip(1.12 * colours, 0, 1)
    warm = np.clip(8 * (red - blue) - 0.8, 0, 1) * np.clip(2.52 - 6 * blue, 0, 1)
    return turned + warm[..., None] * (kept - turned)


def contrast(ink: Any, other: Any) -> Any:
    """The contrast ratio of WCAG 2.2 between colours (…, 3), 0 … 1 in sRGB: from 1 to 21."""
    first, second = _luminance(np.asarray(ink, float)), _luminance(np.asarray(other, float))
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)


def _luminance(colours: np.ndarray) -> np.ndarray:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4) @ _LUMA


def thousands(value: float, digits: int = 0) -> str:
    """A number as prose writes it: 6249.4 is '6 249' with narrow no-break spaces, 2.5 with one digit is '2.5'."""
    return f"{value:,.{digits}f}".replace(",", "\u202f")


def number(value: float, digits: int = 1) -> str:
    """With at most so many digits after the point, and none that says nothing: '2.5', '2', '1 024'."""
    text = thousands(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def median(lower: float, middle: float, upper: float, digits: int = 0) -> str:
    """A median; or both quartiles, '12 163 to 22 833', where they lie apart by more than a fifth of it."""
    if upper - lower <= middle / 5:
        return thousands(middle, digits)
    return f"{thousands(lower, digits)} to {thousands(upper, digits)}"


def speed(gflops: float) -> str:
    """48900.0 is '48.9 TFLOPS', 812.4 is '812 GFLOPS', with a no-break space."""
    return f"{gflops / 1000:.1f}\u00a0TFLOPS" if gflops >= 1000 else f"{thousands(gflops)}\u00a0GFLOPS"


def percent(share: float, digits: int = 1) -> str:
    """0.125 is '12.5 %', 1.0 is '100 %'."""
    return f"{number(100 * share, digits)}\u202f%"


def index(xyz: Sequence[int]) -> str:
    """The index of a block or a thread: '(x, y)', or '(x, y, z)' if there is a z, with no-break spaces."""
    shown = xyz if xyz[2] else xyz[:2]
    return f"({', '.join(map(str, shown))})".replace(" ", "\u00a0")


def cut(text: str, letters: int, points: float = SMALL) -> str:
    """A text that fits into the place of so many letters of this size; an ellipsis is in the place of the rest.

    Where letters are drawn larger (`at_least`), fewer fit.
    """
    letters = int(letters * points / size(points))
    return text if len(text) <= letters else text[: letters - 1] + "…"


def signed(value: float, digits: int = 2) -> str:
    """−0.9 is '−0.90', with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "\u2212")


def runs(numbers: Sequence[int]) -> str:
    """'4 to 31 and 36 to 63': numbers in words, as the set that they are. Of more than MOST_RUNS runs the first ones,
    and the last: '0, 4, 8, …, 60' where all are equally far apart, else '0, 4, 9 and others up to 60'."""
    numbers = sorted(numbers)
    begins = [n for index, n in enumerate(numbers) if index == 0 or n != numbers[index - 1] + 1]
    ends = [n for index, n in enumerate(numbers) if index + 1 == len(numbers) or numbers[index + 1] != n + 1]
    parts = [
        f"{a}" if a == b else f"{a} and {b}" if b == a + 1 else f"{a} to {b}" for a, b in zip(begins, ends, strict=True)
    ]
    if len(parts) > MOST_RUNS:
        steps = {(b - a, d - c) for a, b, c, d in zip(begins, begins[1:], ends, ends[1:], strict=False)}
        last = f", …, {parts[-1]}" if len(steps) == 1 else f" and others up to {ends[-1]}"
        return f"{', '.join(parts[: MOST_RUNS - 1])}{last}"
    words = ", ".join(parts).replace(" and ", ", ").split(", ")
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def plural(count: int, singular: str, ending: str = "s") -> str:
    """'1 sector', '32 sectors', '16 384 bytes', with a no-break space between the number and its noun."""
    return f"{thousands(count)}\u00a0{singular}{'' if count == 1 else ending}"


_OF_FIGURES = ("Figure", "caption_height", "in_few_colours", "ink_on", "style", "to_png")


def __getattr__(name: str) -> Any:
    """What draws with matplotlib, from `helpers.pictures.figures`, loaded when the first figure is drawn (PEP 562)."""
    if name not in _OF_FIGURES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = attribute = getattr(import_module("helpers.pictures.figures"), name)
    return attribute
