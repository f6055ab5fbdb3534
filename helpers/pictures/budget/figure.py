"""Where do the cycles go? One stacked bar per kernel: FMAs, other instructions, what is waited for, no warp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from helpers.cycles import TITLES
from helpers.pictures import marks, page, theme
from helpers.pictures.budget.facts import Budget

OTHER_WAITS = "other reasons"
# What issues is slate. What is waited for has the hue of its place: global memory blue, shared memory purple, the other
# warps red, the SM's own core orange and grey.
COLOURS: Mapping[str, str] = {
    "fma": theme.SPEED,
    "other": "#A9B4C2",
    "long_scoreboard": theme.REFERENCE,
    "lg_throttle": "#B4DAEC",
    "short_scoreboard": theme.WARP,
    "mio_throttle": "#DDB3DC",
    "barrier": theme.TROUBLE,
    "dispatch_stall": "#F0A06C",
    "math_pipe_throttle": "#F9D3B8",
    "wait": "#AFAFAF",
    OTHER_WAITS: "#D3D3D3",
}
WORDS: Mapping[str, str] = {
    "fma": "an FMA is issued",
    "other": "another instruction is issued",
    **TITLES,
    "empty": "no warp is there",
    OTHER_WAITS: OTHER_WAITS,
}
LEAST = 0.012  # of the longest bar: reasons below it become "other reasons"
NAMED = 30.0  # pixels from which on a part has its number in it

# CSS pixels
KEY_TOP, KEY_ROW, ROW, BAR, GROUP, BELOW = 48.0, 22.0, 34.0, 24.0, 14.0, 34.0
RIGHT = page.WIDTH - 66.0


def budgets_figure(
    budgets: Sequence[Budget], title: str, caption: str, floor: float | None = None, *, pairs: bool = False
) -> theme.Figure:
    """One bar per kernel on one axis.

    caption: the sentence below, with its number.  floor: cycles below which no bar can come, drawn as a line.  pairs:
    bars belong together two by two, and lie close.  Raises ValueError without a bar.
    """
    if not budgets:
        raise ValueError("There is no bar to draw: give at least one Budget.")
    longest = max(budget.total for budget in budgets)
    parts = [_shown(budget, longest) for budget in budgets]
    used = [name for name in (*COLOURS, "empty") if any(name in part for part in parts)]
    keys = in_rows([page.Key(COLOURS.get(name, theme.WASTE), WORDS[name], name not in COLOURS) for name in used])
    top = KEY_TOP + KEY_ROW * len(keys) + 16
    height = top + ROW * len(budgets) + (GROUP * ((len(budgets) - 1) // 2) if pairs else 0) + BELOW
    drawn, axes = page.page(height, title, caption, 2)
    left = 26 + max(page.text_width(budget.name, theme.TEXT) for budget in budgets)
    number = 1.15 * page.text_width(theme.number(longest, 0), theme.TEXT)  # in bold letters
    scale = (min(RIGHT, page.WIDTH - 24 - number) - left) / longest
    with theme.style():
        for number, row in enumerate(keys):
            page.legend(axes, KEY_TOP + KEY_ROW * number, row)
        y = top
        for number, (budget, shown) in enumerate(zip(budgets, parts, strict=True)):
            _bar(axes, budget, shown, left, y, scale)
            y += ROW + (GROUP if pairs and number % 2 and number + 1 < len(budgets) else 0)
        if floor is not None:
            x = left + floor * scale
            page.lines(axes, [[(x, top - 6), (x, y + 2)]], theme.INK, 1.6)
            page.text(axes, x, y + 14, f"{theme.number(floor, 0)}: an FMA in every cycle", ha="center", color=theme.INK)
        page.text(axes, RIGHT + 58, y + 14, budgets[0].unit, ha="right", color=theme.INK)
    return drawn


def _shown(budget: Budget, longest: float) -> dict[str, float]:
    """The parts of a bar that are drawn, small reasons in one."""
    shown: dict[str, float] = {}
    small = 0.0
    for name, value in budget.parts.items():
        if name in budget.waits and (name not in COLOURS or value < LEAST * longest):
            small += value
        elif value > 0:
            shown[name] = value
    if small > 0:
        empty = shown.pop("empty", 0.0)
        shown[OTHER_WAITS] = small
        if empty:
            shown["empty"] = empty
    return shown


def in_rows(keys: Sequence[page.Key]) -> list[list[page.Key]]:
    """Entries of a legend in rows that fit on the page."""
    rows: list[list[page.Key]] = [[]]
    x = page.MARGIN
    for key in keys:
        width = 18 + page.text_width(key.words) + 22
        if rows[-1] and x + width > page.WIDTH:
            rows.append([])
            x = page.MARGIN
        rows[-1].append(key)
        x += width
    return rows


def _bar(axes: Axes, budget: Budget, shown: Mapping[str, float], left: float, top: float, scale: float) -> None:
    middle = top + BAR / 2
    page.text(axes, page.MARGIN, middle, budget.name, size=theme.TEXT, color=theme.INK)
    x = left
    for name, value in shown.items():
        box = page.boxes(x, top, value * scale, BAR)
        if name == "empty":
            page.hatch(axes, box, label="empty")
        else:
            page.fill(axes, box, COLOURS[name], edge=theme.PAPER, line=0.8, label=name)
            if value * scale >= NAMED:
                ink = theme.ink_on(COLOURS[name])
                page.labels(axes, [theme.number(value, 0)], x + value * scale / 2, middle, 12.0, ink)
        marks.tell(axes, box, [f"{budget.name}: {WORDS[name]}, {theme.number(value, 1)}"])
        x += value * scale
    page.text(axes, x + 8, middle, theme.number(budget.total, 0), size=theme.TEXT, color=theme.INK, weight="bold")
