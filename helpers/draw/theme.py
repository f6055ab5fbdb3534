"""The course's one visual language: colours with fixed meanings, type that reads from the back of a room, one size.

A figure is a `Figure` of this module, never pyplot's: it belongs to nobody, so it is freed with its last reference and
a slider moved a thousand times leaks nothing. It carries its caption, the sentence that states the number. A notebook
shows it as a PNG of one width; the caption travels with it as text, so comparing outputs compares the number.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib import figure
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image

# Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), which stays distinct for every common colour blindness.
# The meaning of a colour is the same in every notebook.
A = "#0072B2"  # blue: matrix A
B = "#E69F00"  # orange: matrix B
C = "#009E73"  # green: matrix C
WARP = "#7B3F98"  # purple: the selected warp (darker than the palette's, so that white text on it can be read)
TROUBLE = "#D55E00"  # vermillion: trouble
REFERENCE = "#56B4E9"  # sky blue: what is compared with: another kernel, cuBLAS, a roof, a formula
SPEED = "#46566B"  # slate: GFLOPS, the length of a bar or the height of a dot
ARRAY_COLOURS: Mapping[str, str] = {"A": A, "B": B, "C": C}

LEVELS: Mapping[str, str] = {"sass": "machine code", "ptx": "PTX"}  # what is executed and counted, in words

INK = "#1F1F1F"  # text and axes
MUTED = "#5F5F5F"  # second-rank text: 6.4 to 1 on paper, so it still reads from the back
FAINT = "#D9D9D9"  # rules and empty places
WASTE = "#8C8C8C"  # the hatching of what was moved and not used
WASTE_FILL = "#EFEFEF"
WASTE_HATCH = "//////"
PAPER = "#FFFFFF"  # opaque: the same picture on a light and on a dark page

# 900 CSS pixels fit beside JupyterLab's file browser on a 1280 pixel laptop; 144 dpi is 1.44 pixels for each of them.
WIDTH = 9.0  # inches, of every figure
CSS_DPI = 100  # inches to CSS pixels
DPI = 144  # inches to the PNG's pixels
PALETTE_COLOURS = 128  # a PNG of so many colours is a third of the size, and no eye sees the difference

TITLE = 14.0  # points; at CSS_DPI a point is 1.4 pixels
TEXT = 12.0
SMALL = 10.0

_CAPTION_LINE = 0.26  # inches
_CAPTION_MARGIN = 0.10
_CAPTION_WIDTH = WIDTH - 0.3
_RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same on every machine
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "axes.labelsize": TEXT,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "grid.color": FAINT,
    "hatch.color": WASTE,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "gemm-course",
}


class Figure(figure.Figure):
    """A matplotlib figure of the course's width with its caption under it.

    caption: the sentence under the picture, with its number; also the alternative text of the image.
    """

    def __init__(self, height: float, caption: str, caption_lines: int = 1) -> None:
        """height: inches of the picture itself; the caption is added below it, with room for at least caption_lines.

        A picture that is redrawn in place reserves its longest caption, so that the page never moves.
        """
        if not caption.strip():
            raise ValueError("A picture of this course has a caption: one sentence that states the number.")
        lines = _wrapped(caption, TEXT, _CAPTION_WIDTH)
        below = caption_height(max(len(lines), caption_lines))
        super().__init__(figsize=(WIDTH, height + below), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(self)
        self.caption = caption
        self._below = below
        with style():
            top_of_caption = (below - _CAPTION_MARGIN * 0.3) / (height + below)
            self.text(0.0155, top_of_caption, "\n".join(lines), fontsize=TEXT, color=INK, va="top", linespacing=1.45)

    @property
    def picture_bottom(self) -> float:
        """Where the picture begins above its caption, as a fraction of the figure's height."""
        return self._below / float(self.get_size_inches()[1])

    def axes_in_inches(self, left: float, top: float, width: float, height: float, **axes_options: Any) -> Axes:
        """Axes placed in inches from the figure's left and top edge, so that no layout engine moves them."""
        full = float(self.get_size_inches()[1])
        box = (left / WIDTH, 1 - (top + height) / full, width / WIDTH, height / full)
        with style():
            return self.add_axes(box, **axes_options)

    def png(self) -> bytes:
        """The picture as a PNG of `WIDTH * DPI` pixels across."""
        return to_png(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        width, height = self.css_size()
        sizes = {"width": width, "height": height, "alt": self.caption}
        return {"image/png": self.png(), "text/plain": self.caption}, {"image/png": sizes}

    def css_size(self) -> tuple[int, int]:
        """Width and height in CSS pixels, at which a notebook shows it."""
        width, height = self.get_size_inches()
        return round(float(width) * CSS_DPI), round(float(height) * CSS_DPI)


def caption_height(lines: int) -> float:
    """Inches that a caption of so many lines takes under a picture."""
    return lines * _CAPTION_LINE + _CAPTION_MARGIN


def style() -> Any:
    """The context in which figure functions create their artists: `with theme.style(): ...`."""
    return matplotlib.rc_context(_RC)


def to_png(drawn: figure.Figure) -> bytes:
    """PNG bytes of a figure, in few colours and without metadata: the same bytes for the same picture."""
    with style():
        canvas = drawn.canvas
        assert isinstance(canvas, FigureCanvasAgg)
        canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    reduced = image.quantize(PALETTE_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    # The octree rounds white to 254; on a white page the card would show its edge.
    palette = np.array(reduced.getpalette()).reshape(-1, 3)
    palette[(palette >= 250).all(axis=1)] = 255
    reduced.putpalette(palette.astype(np.uint8).tobytes())
    out = io.BytesIO()
    reduced.save(out, format="PNG", optimize=False)
    return out.getvalue()


def _wrapped(text: str, size: float, width: float) -> list[str]:
    """Lines of text that are at most `width` inches wide in letters of `size` points; no-break spaces do not break."""
    space, full = _points(" ", size), width * 72
    lines: list[list[str]] = [[]]
    used = 0.0
    for word in text.split(" "):
        length = _points(word, size)
        if lines[-1] and used + space + length > full:
            lines.append([])
        used = used + space + length if lines[-1] else length
        lines[-1].append(word)
    return [" ".join(line) for line in lines]


@lru_cache(maxsize=2048)
def _points(word: str, size: float) -> float:
    """The width of a word in points. Captions repeat their words, and measuring one takes longer than drawing it."""
    font = FontProperties(family=_RC["font.family"], size=size)
    return text_to_path.get_text_width_height_descent(word, font, ismath=False)[0]


def thousands(value: float, digits: int = 0) -> str:
    """A number as prose writes it: 6249.4 is '6 249' with narrow no-break spaces, 2.5 with one digit is '2.5'."""
    return f"{value:,.{digits}f}".replace(",", "\u202f")


def number(value: float, digits: int = 1) -> str:
    """With at most so many digits after the point, and none that says nothing: '2.5', '2', '1 024'."""
    text = thousands(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def cut(text: str, letters: int) -> str:
    """A text of at most so many letters; an ellipsis is in the place of the rest."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def signed(value: float, digits: int = 2) -> str:
    """−0.9 is '−0.90', with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "\u2212")


def plural(count: int, singular: str, ending: str = "s") -> str:
    """'1 sector', '32 sectors', '16 384 bytes', with a no-break space between the number and its noun."""
    return f"{thousands(count)}\u00a0{singular}{'' if count == 1 else ending}"
