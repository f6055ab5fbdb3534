"""The explorer of the tuning landscape."""

import pytest

from gemm_kernels import get
from helpers import devices
from helpers.analysis import landscape
from helpers.explore import tuning
from helpers.explore.live import CannotShow
from helpers.explore.tuning import Choice, picture_of
from helpers.measure import Timing, recordings
from helpers.measure.measurement import Measurement
from helpers.models.tuning import CannotRun, predict
from tests.explore.driving import drive, living_figures, shown

H200 = devices.get("H200")


def measured(milliseconds: float, size: int = 4096, **params: int) -> Measurement:
    kernel = get(landscape.KERNEL).replace(**{**landscape.fixed(), **params})
    time = Timing(milliseconds, milliseconds, milliseconds, 5)
    return Measurement(kernel.name, kernel.params, kernel.block, size, size, size, time, time, 0.0, H200.name, "")


SEARCH = [
    measured(4.0, BM=128, BN=256, BK=8, WM=64, WN=64, TM=16, TN=8),
    measured(3.0, BM=128, BN=128, BK=8, WM=64, WN=32, TM=8, TN=8),
    measured(5.0, BM=128, BN=128, BK=64, WM=64, WN=32, TM=8, TN=8),  # outside of the space
]


@pytest.fixture
def searched(monkeypatch):
    """Recordings with a search at 4096."""
    landscape.landscape_of.cache_clear()

    def load(gpu, suite=None):
        if gpu != H200.name:
            raise recordings.NoRecording("none")
        return SEARCH

    monkeypatch.setattr(landscape.recordings, "load", load)
    yield
    landscape.landscape_of.cache_clear()


def test_every_setting_shows_a_picture_or_a_sentence_and_no_figure_is_kept(monkeypatch):
    explorer = tuning.explore(measure="occupancy")
    explorer.device.options = [(name, devices.get(name)) for name in ("NVIDIA H200", "NVIDIA RTX A6000")]
    before = living_figures()
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 50 and seen["sentence"] > 5
    assert living_figures() <= before


def test_legal_is_what_the_kernels_rules_allow():
    data = landscape.landscape_of(H200)
    for one in data.configurations[:: len(data.configurations) // 60]:
        if one.broken:
            with pytest.raises(ValueError, match="Found BM"):
                get(landscape.KERNEL).replace(**one.params)
        else:
            assert one.predicted == predict(H200, get(landscape.KERNEL).replace(**one.params))
    assert 0 < len(data.legal) < len(data.configurations)


def test_speeds_come_from_the_recorded_search(searched):
    data = landscape.landscape_of(H200, 4096)
    assert data.source == "recorded on NVIDIA H200"
    found = {
        one.params["BM"] * one.params["BN"]: one.gflops for one in data.legal if one.gflops and one.params["BK"] == 8
    }
    assert found == {128 * 256: SEARCH[0].gflops, 128 * 128: SEARCH[1].gflops}
    assert any(one.params["BK"] == 64 for one in data.legal)
    assert len(data.configurations) == len(landscape.space()) + 1


def test_a_prediction_counts_the_space_alone_and_a_speed_only_what_was_measured(searched):
    legal, every = (sum(not one.broken for one in landscape.space()), len(landscape.space()))
    counts = f"{legal} of {every:,} configurations are legal".replace(",", "\u202f")
    assert picture_of(Choice(H200, measure="intensity", size=4096)).caption.startswith(counts)
    assert picture_of(Choice(H200, measure="gflops", size=4096)).caption.startswith(
        "3\u00a0configurations were measured"
    )


def test_a_pair_is_a_configuration_that_was_measured_with_both_values(searched, monkeypatch):
    deeper = [*SEARCH, measured(6.0, BM=128, BN=128, BK=8, WM=64, WN=32, TM=8, TN=8, STAGES=3)]
    monkeypatch.setattr(landscape.recordings, "load", lambda gpu, suite=None: deeper)
    ((others, two, three),) = landscape.pairs(H200.name, 4096, "STAGES", 2, 3)
    assert (two, three) == (SEARCH[1].gflops, deeper[-1].gflops)
    assert others == {name: value for name, value in SEARCH[1].params.items() if name != "STAGES"}


def test_parameters_that_the_search_varied_can_be_chosen(searched, monkeypatch):
    more = [*SEARCH, measured(6.0, BM=128, BN=128, BK=8, WM=64, WN=32, TM=8, TN=8, BLOCKS=2)]
    monkeypatch.setattr(landscape.recordings, "load", lambda gpu, suite=None: more)
    explorer = tuning.explore()
    names = [name for name, _ in explorer.across.options]
    assert "BLOCKS" in names and "STAGES" not in names
    explorer.down.value = "BLOCKS"
    assert shown(explorer) == "picture"


def test_the_best_is_compared_with_the_first_guess(searched):
    caption = picture_of(Choice(H200, measure="gflops")).caption.replace("\u202f", " ")
    times = SEARCH[1].gflops / SEARCH[0].gflops
    assert (
        f"the best reaches {SEARCH[1].gflops:,.0f} GFLOPS, {times:.2f} times the first guess".replace(",", " ", 1)
        in caption
    )


def test_the_explorer_begins_with_what_was_recorded(searched):
    explorer = tuning.explore()
    assert (explorer.measure.value, explorer.size.value) == ("gflops", 4096)
    assert shown(explorer) == "picture"


def test_without_a_search_the_speed_is_answered_in_a_sentence():
    with pytest.raises(CannotShow, match="No search was recorded on the NVIDIA RTX A6000"):
        picture_of(Choice(devices.get("RTX A6000"), measure="gflops"))


def test_the_space_holds_the_first_guess():
    first = get(landscape.FIRST_GUESS).params
    assert all(first[name] in landscape.SPACE[name] for name in landscape.SPACE)


def test_the_static_twin_says_whether_it_is_predicted():
    caption = tuning.small_multiples((("BM", "BN"),)).caption
    assert ("Predicted, not measured" in caption) != ("recorded on" in caption)


def test_only_gpus_that_can_run_the_kernel_are_offered():
    names = [name for name, _ in tuning.explore().device.options]
    assert "NVIDIA RTX A6000" in names and "Tesla T4" not in names
    with pytest.raises(CannotRun, match="autotuned does not run on sm_75, because it uses cp.async"):
        tuning.explore(device="Tesla T4")
