"""What an explorer works out in a thread: inputs are heard meanwhile, and what is outdated is never shown."""

import asyncio
import threading

import ipywidgets
import pytest

from gemm_kernels import get
from helpers import cycles, recordings, run
from helpers.pictures import frames, speeds, theme
from helpers.pictures.background import Behind
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.register_tile import explorer as register_tile

SOON = 20  # seconds, on a machine that is busy


class Slow(LiveExplorer):
    """A picture of a number, and a note that takes as long as `gate` is closed."""

    def __init__(self):
        self.gates = {number: threading.Event() for number in range(3)}
        self.begun = []
        self.number = ipywidgets.IntSlider(0, 0, 2)
        super().__init__("Slow.", [[self.number]], 100)

    def draw(self):
        return theme.Figure(0.3, str(self.number.value)), f"picture {self.number.value}"

    def later(self):
        number = self.number.value

        def work():
            self.begun.append((number, threading.current_thread()))
            assert self.gates[number].wait(SOON)
            if number == 2:
                raise CannotShow("There is none for 2.")
            return f"note {number}"

        return work


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: drawn.caption.encode())
    monkeypatch.setattr(frames, "PAUSE", 0.0)
    monkeypatch.setattr(frames, "near", lambda *_: iter(()))
    return Slow()


async def until(true):
    async with asyncio.timeout(SOON):
        while not true():
            await asyncio.sleep(0.005)


def test_new_input_is_drawn_and_the_old_note_never_shown(slow):
    async def play():
        slow.number.value = 1
        await until(lambda: slow.begun)
        assert slow.begun[0][1] is not threading.main_thread()
        slow.number.value = 0
        assert slow.stage.note.value == "picture 0"
        slow.gates[1].set()
        await until(lambda: len(slow.begun) == 2)
        assert slow.stage.note.value == "picture 0"
        slow.gates[0].set()
        await until(lambda: slow.stage.note.value == "note 0")

    asyncio.run(play())
    assert [number for number, _ in slow.begun] == [1, 0]


def test_worked_out_note_is_there_at_once_on_return(slow):
    for gate in slow.gates.values():
        gate.set()

    async def play():
        slow.number.value = 1
        await until(lambda: slow.stage.note.value == "note 1")
        slow.number.value = 2
        await until(lambda: slow.stage.note.value == "There is none for 2.")
        slow.number.value = 1
        assert slow.stage.note.value == "note 1"
        await asyncio.sleep(0.05)

    asyncio.run(play())
    assert [number for number, _ in slow.begun] == [1, 2]


def test_work_that_is_outdated_before_it_began_never_does():
    gate, called = threading.Event(), []

    async def play():
        first, other = Behind(), Behind()
        first.begin(lambda: gate.wait(SOON) and "first" or "", called.append)
        other.begin(lambda: called.append("begun") or "", called.append)
        other.stop()
        gate.set()
        await until(lambda: called)
        await asyncio.sleep(0.05)

    asyncio.run(play())
    assert called == ["first"]


@pytest.mark.parametrize("make", [coalescing.explore, register_tile.explore])
def test_the_picture_is_there_before_anything_is_predicted(make, monkeypatch):
    said = []
    monkeypatch.setattr(speeds, "_said", {})
    monkeypatch.setattr(speeds, "_predicted", lambda launch: said.append(launch) or "7 GFLOPS, predicted")
    monkeypatch.setattr(speeds, "recorded", lambda *_: None)
    monkeypatch.setattr(recordings, "find", lambda *_: None)
    explorer = make()
    assert explorer.stage.picture.value and not said
    assert "predicted" not in explorer.stage.note.value
    explorer.complete()
    assert said and "7 GFLOPS, predicted" in explorer.stage.note.value
    explorer.k.value = 1
    assert "7 GFLOPS, predicted" in explorer.stage.note.value  # what is known is said with the picture


def test_predicting_thread_and_recording_cell_do_not_interfere():
    launches = [get(name).launch(96, 80, 64) for name in ("naive", "shared_memory", "block_tile_1d", "coalesced")]

    def predicted(launch):
        cycles._traced.cache_clear()
        prediction = cycles.predict(launch)
        return prediction.cycles, dict(prediction.stalls)

    def recorded(launch):
        run._record.cache_clear()
        return dict(run.record(launch).counters)

    alone = [(predicted(launch), recorded(launch)) for launch in launches]
    times, errors = 3, []

    def work(which, delay):
        try:
            for _ in range(times):
                for number, launch in enumerate(launches):
                    assert which(launch) == alone[number][delay]
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(which, delay))
        for delay, which in ((0, predicted), (0, predicted), (1, recorded))
    ]
    for thread in threads:
        thread.start()
    work(recorded, 1)
    for thread in threads:
        thread.join()
    assert not errors
