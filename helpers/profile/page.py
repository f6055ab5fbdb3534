"""A profile as text for a terminal, and as HTML for a browser or a notebook."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from helpers.cycles import READY, TITLES, WAITS, Prediction
from helpers.pictures.budget.figure import COLOURS, OTHER_WAITS
from helpers.profile.facts import HotLine, Profile, Roof, Traffic

BAR = 40  # characters of the longest bar
LEAST = 0.005  # of the time, or of the hottest line, below which a part is left out
ISSUED = {"fma": "an FP32 instruction is issued", "other": "another instruction is issued", "empty": "no warp is there"}
NOTHING = "nothing"
HAZARD = "Hazard: "
HEADING = "Where the time goes: what is issued, and what is waited for while nothing is"
HOT = "The lines that take most of the time, and what their warps mostly wait for"
MEMORY = "Memory requests of the first block"
BUSY = "How busy each unit is while the kernel runs"
TRAFFIC = "What the launch moves"
UNITS = {
    "fp32": "FP32 pipe", "issue": "schedulers", "alu": "integer pipe (ALU)", "fp64": "FP64 pipe",
    "xu": "special functions (XU)", "tensor": "tensor cores", "shared": "shared memory and L1", "l2": "L2's bandwidth",
    "dram": "DRAM's bandwidth", "store": "way of stores to L2",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Page:
    """A profile that a notebook shows."""

    profile: Profile

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": page(self.profile), "text/plain": text(self.profile)}


def text(profile: Profile) -> str:
    """The page for a terminal."""
    p = profile.prediction
    lines = [profile.name, p.limiter, f"Time: {_likely(p)}, {p.label} {p.cache}.", p.range.reason]
    lines += _remarks(profile)
    lines += [f"Occupancy: {profile.occupancy}"]
    if profile.roof is not None:
        lines.append(f"Roofline: {_under(profile.roof)}")
    lines += ["", f"{HEADING}:"]
    longest = max(profile.shares.values())
    for name, share in profile.shares.items():
        if share >= LEAST:
            title, meaning = _words(name, p)
            lines.append(
                f"  {title:30}{share:6.1%} {'█' * max(1, round(share / longest * BAR)):{BAR}}  {meaning}".rstrip()
            )
    lines += ["", f"{BUSY}:"]
    for name, share in profile.units.items():
        if share >= LEAST:
            lines.append(f"  {UNITS[name]:30}{share:6.1%} {'█' * max(1, round(share * BAR))}")
    lines += ["", f"{TRAFFIC}, {p.label}:", *(f"  {name:10}{what}" for name, what in _moved(profile.traffic))]
    if profile.accesses:
        lines += ["", f"{MEMORY}:"]
        for access in profile.accesses:
            factor = access.cost / access.ideal if access.ideal else 1
            lines.append(
                f"  {access.space:8}{access.op:5}{access.requests:9,} requests {access.cost:10,} {access.unit}, "
                f"at best {access.ideal:,} ({factor:.2f} ×)"
            )
    lines += ["", f"{HOT}:"]
    for line in _hot(profile):
        lines.append(f"  {line.share:6.1%} line {line.line:<4} {line.text[:80]}  [{line.waits_for or NOTHING}]")
    return "\n".join(lines)


def _remarks(profile: Profile) -> list[str]:
    """What is wrong, where it was looked for, what makes it slow, and what is wasted."""
    hazards = [f"{HAZARD}{hazard}" for hazard in profile.hazards]
    return [*hazards, profile.looked_at, *map(str, profile.causes), *map(str, profile.wastes)]


def _hot(profile: Profile) -> list[HotLine]:
    return [line for line in profile.hot if line.share >= LEAST * profile.hot[0].share]


def _likely(prediction: Prediction) -> str:
    """'10.4 µs (9.1 to 12)', or in milliseconds from one on."""
    factor, unit = (1, "ms") if prediction.ms >= 1 else (1e3, "µs")
    likely, low, high = (factor * ms for ms in (prediction.ms, *prediction.range_ms))
    return f"{_three_digits(likely)} {unit} ({_three_digits(low)} to {_three_digits(high)})"


def _three_digits(value: float) -> str:
    """'7.80', '12.0', '532', '1,234'."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _under(roof: Roof) -> str:
    return (
        f"{roof.gflops:,.0f} GFLOPS at {roof.intensity:.3g} FLOP per byte of DRAM, "
        f"{roof.gflops / roof.roof_gflops:.0%} of the {roof.roof_gflops:,.0f} under the roof there."
    )


def _moved(traffic: Traffic) -> list[tuple[str, str]]:
    """(a level of memory, what passes there)."""
    asked = traffic.asked_of_l1
    hits = f", of which {traffic.found_in_l1 / asked:.0%} is there" if asked else ""
    return [
        ("L1", f"{_bytes(asked)} asked for by loads{hits}"),
        ("L2", f"{_bytes(traffic.from_l2)} sent to the SMs, {_bytes(traffic.stored)} stored by them"),
        ("DRAM", f"{_bytes(traffic.from_dram)} read; what is stored goes there when L2 needs the room"),
    ]


def _bytes(count: float) -> str:
    """'12.6 MB', in units of 1000; '0 B'."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:.0f} B"


def _words(name: str, prediction: Prediction) -> tuple[str, str]:
    """(Nsight Compute's title of a part of the time, what it means)."""
    if name in TITLES:
        return TITLES[name], f"waiting for {WAITS[name]}" if name in WAITS else READY
    if name == "empty":
        causes = {cause: part for cause, part in prediction.empty.items() if part >= LEAST}
        return ISSUED[name], "; ".join(
            f"{cause} ({part:.1%})" if len(causes) > 1 else cause for cause, part in causes.items()
        )
    return ISSUED[name], ""


_STYLE = """<style>
.profile { font-family: sans-serif; max-width: 60rem; margin: 1rem auto; }
.profile td { padding: 2px 8px; text-align: right; } .profile td.words { text-align: left; }
.profile .part td:first-child { white-space: nowrap; }
.profile .bar { height: 0.9em; display: inline-block; }
.profile .hazard { border-left: 4px solid #CD4022; padding-left: 10px; white-space: pre-wrap; }
.profile .heat { padding: 0 6px; } .profile pre { margin: 0 0 0 2em; font-size: 85%; overflow-x: auto; }
.profile table { display: block; overflow-x: auto; }
</style>"""
_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }} body {{ margin: 0 1rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #ddd; }} }}
</style>
</head>
<body><main>
<h1>What limits {title}?</h1>
{pages}
</main></body>
</html>
"""


def document(*profiles: Profile) -> str:
    """The pages of profiles as an HTML file, for light and dark screens of any width."""
    title = html.escape(" and ".join(dict.fromkeys(profile.name for profile in profiles)))
    return _DOCUMENT.format(title=title, pages="\n".join(map(page, profiles)))


def page(profile: Profile) -> str:
    """The page as HTML, for a notebook or a file: no script, nothing that is fetched."""
    p = profile.prediction
    out = [_STYLE, '<div class="profile">', f"<h2>{html.escape(profile.name)}</h2>"]
    out.append(f"<p><b>{html.escape(p.limiter)}</b></p>")
    out.append(
        f"<p>Time: <b>{_likely(p)}</b>, <i>{html.escape(p.label)}</i> {html.escape(p.cache)}. "
        f"{html.escape(p.range.reason)}</p>"
    )
    out += [f'<p class="hazard">{HAZARD}{html.escape(hazard)}</p>' for hazard in profile.hazards]
    out += [f"<p>{html.escape(str(remark))}</p>" for remark in (profile.looked_at, *profile.causes, *profile.wastes)]
    out.append(f"<p>Occupancy: {html.escape(profile.occupancy)}</p>")
    if profile.roof is not None:
        out.append(f"<p>Roofline: {_under(profile.roof)}</p>")
    longest = max(profile.shares.values())
    out.append(f"<h3>{HEADING}</h3><table>")
    for name, share in profile.shares.items():
        title, meaning = _words(name, p)
        out += _bar(title, share, share / longest, COLOURS.get(name, COLOURS[OTHER_WAITS]), meaning)
    out.append(f"</table><h3>{BUSY}</h3><table>")
    for name, share in profile.units.items():
        out += _bar(UNITS[name], share, share, COLOURS["other"])
    out.append(f"</table><h3>{TRAFFIC}, {html.escape(p.label)}</h3><table>")
    for cells in _moved(profile.traffic):
        out.append("<tr>" + "".join(f'<td class="words">{cell}</td>' for cell in cells) + "</tr>")
    out.append("</table>")
    if profile.accesses:
        out.append(f"<h3>{MEMORY}</h3><table>")
        out.append("<tr><td>space</td><td>operation</td><td>requests</td><td>cost</td><td>at best</td></tr>")
        for access in profile.accesses:
            cells = (
                access.space,
                access.op,
                f"{access.requests:,}",
                f"{access.cost:,} {access.unit}",
                f"{access.ideal:,}",
            )
            out.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        out.append("</table>")
    out.append(f"<h3>{HOT}</h3>")
    for line in _hot(profile):
        code = html.escape("\n".join(line.sass[:40]))
        heat = f"background: rgba(205, 64, 34, {min(line.share, 1.0):.2f})"
        out.append(
            f'<details><summary><span class="heat" style="{heat}">{line.share:.1%}</span> line {line.line}: '
            f"<code>{html.escape(line.text)}</code> ({line.waits_for or NOTHING})</summary><pre>{code}</pre></details>"
        )
    return "\n".join([*out, "</div>"])


def _bar(title: str, share: float, length: float, colour: str, meaning: str = "") -> list[str]:
    """A row of a table, or none if the share of the time is too small. length: of the bar, 0 … 1."""
    if share < LEAST:
        return []
    bar = f'<span class="bar" style="width:{length * 14:.2f}em; background:{colour}"></span>'
    cells = (title, f"{share:.1%}", bar, html.escape(meaning))
    return ['<tr class="part">' + "".join(f'<td class="words">{cell}</td>' for cell in cells) + "</tr>"]


def compared(former: Profile, other: Profile, names: tuple[str, str] = ("the first", "the second")) -> str:
    """Two launches side by side, for a terminal. names: of what they are of, such as files."""
    a, b = former.prediction, other.prediction
    (fast, faster), (slow, slower) = sorted(zip((a, b), names, strict=True), key=lambda pair: pair[0].ms)
    lines = [
        f"{faster} takes {_likely(fast)} and {slower} {_likely(slow)}: {slow.ms / fast.ms:.2f} times as long, "
        f"{a.label}."
    ]
    for profile, name in zip((former, other), names, strict=True):
        lines += ["", f"{name}: {profile.prediction.limiter}"]
        lines += _remarks(profile)
    width = max(12, *(len(name) + 2 for name in names))
    lines += ["", f"{'share of the time':32}" + "".join(f"{name:>{width}}" for name in names)]
    first, second = former.shares, other.shares
    for name in sorted({**first, **second}, key=lambda name: -abs(first.get(name, 0) - second.get(name, 0))):
        if max(first.get(name, 0), second.get(name, 0)) >= LEAST:
            lines.append(f"  {_words(name, a)[0]:30}{first.get(name, 0):{width}.1%}{second.get(name, 0):{width}.1%}")
    return "\n".join(lines)
