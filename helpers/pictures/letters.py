"""A renderer that keeps what it has worked out of letters: how wide a text is, how it is laid out, and each glyph.

Letters are most of the time that a picture takes, and when a slider moves, nearly all of them stay. matplotlib
forgets them with each figure. The pixels are the same: a glyph looks the same one whole pixel further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg, get_hinting_flag
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font, RenderMode

SUBPIXELS = 64  # in which FreeType places a glyph
WHOLE = 0x10000  # FreeType's 1 in a transformation
MOST = 8192  # of each kind that are kept, a few megabytes
KNOWN = all(hasattr(FT2Font, name) for name in ("_layout", "_render_glyph", "_set_transform"))  # matplotlib 3.11's own


class _Kept(dict[Hashable, Any]):
    """Values by key; when there are too many, all are forgotten."""

    def of(self, key: Hashable, make: Callable[[], Any]) -> Any:
        value = self.get(key)
        if value is None:
            if len(self) >= MOST:
                self.clear()
            value = self[key] = make()
        return value


_widths, _layouts, _glyphs = _Kept(), _Kept(), _Kept()


class Renderer(RendererAgg):
    """matplotlib's, with a memory. Formulas, letters without smooth edges and other versions are left to matplotlib."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> Any:
        if ismath:
            return super().get_text_width_height_descent(s, prop, ismath)
        measure = super().get_text_width_height_descent
        return _widths.of((s, hash(prop), self.dpi), lambda: measure(s, prop, ismath))

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: FontProperties, angle: float, ismath: Any = False,
        mtext: Any = None,
    ) -> None:  # fmt: skip
        if ismath or not KNOWN or not gc.get_antialiased():
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        size = prop.get_size_in_points()
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        for font, glyph, dx, dy in _layouts.of((s, hash(prop), self.dpi), lambda: self._laid_out(s, prop)):
            across = round(SUBPIXELS * (x + dx * cos - dy * sin))
            up = round(SUBPIXELS * (self.height - y + dx * sin + dy * cos))  # FreeType's y is upwards
            subpixel = (across % SUBPIXELS, up % SUBPIXELS)
            key = (font.fname, size, self.dpi, angle, glyph, subpixel)
            pixels, left, top = _glyphs.of(key, partial(self._drawn, font, size, cos, sin, glyph, subpixel))
            left, top = left + across // SUBPIXELS, top + up // SUBPIXELS
            self._renderer.draw_text_image(pixels, left, int(self.height) - top + pixels.shape[0], 0, gc)

    def _laid_out(self, s: str, prop: FontProperties) -> list[tuple[Any, int, float, float]]:
        """Font, glyph and place of each letter, pixels from the text's beginning."""
        items = self._prepare_font(prop)._layout(s, flags=get_hinting_flag())
        return [(item.ft_object, item.glyph_index, item.x, item.y) for item in items]

    def _drawn(
        self, font: Any, size: float, cos: float, sin: float, glyph: int, subpixel: tuple[int, int]
    ) -> tuple[np.ndarray, int, int]:
        font.set_size(size, self.dpi)
        font._set_transform((WHOLE * np.array([[cos, -sin], [sin, cos]])).round().astype(int), list(subpixel))
        bitmap = font._render_glyph(glyph, get_hinting_flag(), RenderMode.NORMAL)
        return bitmap.buffer.copy(), bitmap.left, bitmap.top


class Canvas(FigureCanvasAgg):
    """A canvas that draws with it."""

    def get_renderer(self) -> Renderer:
        """The one for the figure as large as it is now."""
        width, height = self.figure.bbox.size
        renderer = getattr(self, "renderer", None)
        if renderer is None or (renderer.width, renderer.height, renderer.dpi) != (width, height, self.figure.dpi):
            self.renderer = Renderer(width, height, self.figure.dpi)
        return self.renderer
