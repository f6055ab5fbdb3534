"""What makes explorers quick: frames that are kept, neighbours that are drawn ahead, and nobody who notices."""

import asyncio
import threading

import pytest
from ipywidgets.widgets import widget

from helpers.pictures import frames, theme
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.controls import choice_list, range_slider, switch
from helpers.pictures.frames import Frame, Frames, near, put, state_of
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.tile_phases import explorer as tile_phases
from tests.pictures.driving import PNG, shown


class Sum(LiveExplorer):
    """Draws the sum of two sliders, of which the second's end follows the first; 13 cannot be shown."""

    drawn: list[int] = []

    def __init__(self, first: int) -> None:
        self.first, self.second = range_slider("first", 0, 20, first), range_slider("second", 0, 5, 0)
        super().__init__("sum", [[self.first, self.second]], 100)

    def needs(self):
        return ["compiler"] if self.first.value == 9 else []

    def draw(self):
        with self.quiet():
            self.second.max = self.first.value
        total = self.first.value + self.second.value
        Sum.drawn.append(total)
        if total == 13:
            raise CannotShow("Thirteen cannot be shown.")
        return theme.Figure(0.3, f"the sum is {total}"), f"sum {total}"


@pytest.fixture
def explorer(monkeypatch):
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: PNG + drawn.caption.encode())
    monkeypatch.setattr(frames, "PAUSE", 0.0)
    monkeypatch.setattr(frames, "BETWEEN", 0.0)
    Sum.drawn = []
    return Sum(first=5)


def moved_and_rested(explorer, value):
    """Move the first control inside of an event loop, as in a notebook, and wait until nothing is left to do."""

    async def rest():
        explorer.first.value = value
        while explorer._idle.waiting:
            await asyncio.sleep(0)

    asyncio.run(rest())


def test_known_setting_is_not_drawn_again_controls_agree(explorer):
    explorer.first.value = 4
    assert explorer.second.max == 4
    explorer.first.value = 3
    assert explorer.second.max == 3
    before = len(Sum.drawn)
    explorer.second.max = 5  # as it was at the first visit
    explorer.first.value = 5
    explorer.second.max = 5
    assert explorer.stage.note.value == "sum 5" and b"the sum is 5" in bytes(explorer.stage.picture.value)
    assert len(Sum.drawn) == before
    explorer.second.max = 5
    explorer.first.value = 4
    assert explorer.second.max == 4 and len(Sum.drawn) == before


def test_at_rest_next_settings_are_drawn_ahead_along_the_move(explorer):
    moved_and_rested(explorer, 6)
    assert Sum.drawn[:2] == [5, 6] and Sum.drawn[2:5] == [7, 8, 5]  # 9 needs the compiler
    drawn = len(Sum.drawn)
    explorer.first.value = 7
    assert len(Sum.drawn) == drawn and explorer.stage.note.value == "sum 7" and explorer.second.max == 7
    assert explorer.first.value == 7 and explorer.second.value == 0


def test_a_move_back_draws_the_settings_before(explorer):
    moved_and_rested(explorer, 3)
    assert Sum.drawn[:5] == [5, 3, 2, 1, 0]


def test_compiled_settings_are_not_drawn_ahead_until_shown(explorer):
    moved_and_rested(explorer, 8)
    assert 9 not in Sum.drawn[:3]
    explorer.first.value = 9
    assert explorer.stage.note.value == "sum 9"


def test_a_sentence_is_kept_too(explorer):
    moved_and_rested(explorer, 12)
    drawn = len(Sum.drawn)
    explorer.first.value = 13
    assert shown(explorer) == "sentence" and len(Sum.drawn) == drawn
    explorer.first.value = 12
    assert shown(explorer) == "picture"


def test_nothing_is_drawn_ahead_without_a_move_or_a_listener(explorer, monkeypatch):
    assert Sum.drawn == [5] and explorer._ahead is None
    opened = []
    monkeypatch.setattr(widget.comm, "create_comm", lambda **what: opened.append(what))
    moved_and_rested(explorer, 6)
    assert explorer._ahead is not None and opened == []
    assert all(isinstance(control.comm, frames.Unheard) for control in explorer._ahead.controls)


def test_fault_met_ahead_waits_until_the_learner_goes_there(explorer, monkeypatch):
    faults = Sum.draw

    def draw(self):
        if self.first.value == 7:
            raise ZeroDivisionError("a fault of the explorer")
        return faults(self)

    monkeypatch.setattr(Sum, "draw", draw)
    moved_and_rested(explorer, 6)
    with pytest.raises(ZeroDivisionError):
        explorer.first.value = 7


class Pair(LiveExplorer):
    """Draws two sliders' numbers, and keeps which threads drew. While the first setting is drawn ahead, another thread
    moves a slider, as a subshell of JupyterLab's does."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.other: threading.Thread | None = None
        self.first, self.second = range_slider("first", 0, 20, 9), range_slider("second", 0, 5, 0)
        super().__init__("pair", [[self.first, self.second]], 100)

    def draw(self):
        learners = self._original or self
        if self is not learners and learners.other is None:
            learners.other = threading.Thread(target=moved_and_rested, args=(learners, 7))
            learners.other.start()
            learners.other.join(0.05)
        learners.threads.append(threading.current_thread())
        return theme.Figure(0.3, f"{self.first.value} and {self.second.value}"), ""


def test_a_move_in_another_thread_moves_no_other_control(explorer):
    pair = Pair()

    async def rest():
        pair.first.value = 8
        pair.threads.clear()
        while pair._idle.waiting:
            await asyncio.sleep(0.01)

    asyncio.run(rest())
    pair.other.join()
    assert (pair.first.value, pair.second.value) == (7, 0)
    assert all(not frame.controls for frame in pair._frames._kept.values())
    assert set(pair.threads[pair.threads.index(pair.other) :]) == {pair.other}  # the older chain has ended


@pytest.mark.parametrize(
    ("module", "control", "value"), [(coalescing, "k", 3), (tile_phases, "phase", 2), (pipeline, "latency", 500)]
)
def test_picture_drawn_ahead_equals_the_one_drawn_at_once(module, control, value, monkeypatch):
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: PNG + drawn.caption.encode())
    monkeypatch.setattr(frames, "PAUSE", 0.0)
    at_once, later = module.explore(), module.explore()

    async def rest():
        getattr(later, control).value = value - getattr(later, control).step
        while later._idle.waiting:
            await asyncio.sleep(0.01)

    asyncio.run(rest())
    kept = len(later._frames)
    for explorer in (later, at_once):
        getattr(explorer, control).value = value
    assert len(later._frames) == kept
    for part in ("picture", "note", "overlay"):
        assert getattr(later.stage, part).value == getattr(at_once.stage, part).value
    assert list(map(state_of, later.controls)) == list(map(state_of, at_once.controls))


def test_the_oldest_frames_are_dropped(monkeypatch):
    monkeypatch.setattr(frames, "MOST_FRAMES", 2)
    kept = Frames()
    for setting in "abac":
        kept.get(setting) or kept.keep(setting, Frame(None, setting, {}))
    assert "a" in kept and "c" in kept and "b" not in kept and len(kept) == 2


def test_the_states_near_a_control_stay_inside_its_range():
    slider = range_slider("x", 0, 30, 20, step=10)
    assert [state["value"] for state in near(slider, steps=3)] == [30, 10]
    assert [state["value"] for state in near(slider, back=True, steps=3)] == [10, 0, 30]
    listed = choice_list("x", [("a", 1), ("b", 2), ("c", None)], 2)
    assert [state["index"] for state in near(listed)] == [2, 0]
    assert [state["value"] for state in near(switch("x", True))] == [False]
    slider.disabled = True
    assert list(near(slider)) == []


def test_control_reaches_a_state_whatever_its_range_was():
    narrow, other = range_slider("x", 0, 3, 2), range_slider("x", 50, 90, 60)
    put(narrow, state_of(other))
    assert state_of(narrow) == state_of(other)
    put(narrow, {**state_of(range_slider("x", 0, 3, 2)), "disabled": True})
    assert (narrow.min, narrow.max, narrow.value, narrow.disabled) == (0, 3, 2, True)
