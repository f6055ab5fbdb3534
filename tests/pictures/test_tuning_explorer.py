"""The explorer of the tuning landscape."""

import pytest

from gpusim import devices
from helpers.pictures.live import CannotShow
from helpers.pictures.tuning import explorer as tuning, facts as landscape
from helpers.pictures.tuning.explorer import Choice, picture_of
from helpers.pictures.tuning.model import CannotRun
from tests.pictures.driving import drive, shown
from tests.pictures.facts_data import H200, SEARCH, measured


def test_settings_show_picture_or_sentence_and_free_figures(monkeypatch):
    explorer = tuning.explore(measure="occupancy")
    explorer.device.options = [(name, devices.get(name)) for name in ("NVIDIA H200", "NVIDIA RTX A6000")]
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 25 and seen["sentence"] > 5


def test_prediction_needs_only_the_space_a_speed_a_measurement(searched):
    legal, every = (sum(not configuration.broken for configuration in landscape.space()), len(landscape.space()))
    counts = f"{legal} of {every:,} configurations are legal".replace(",", "\u202f")
    assert picture_of(Choice(H200, measure="intensity", size=4096)).caption.startswith(counts)
    assert picture_of(Choice(H200, measure="gflops", size=4096)).caption.startswith(
        "3\u00a0configurations were measured"
    )


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


def test_unsearched_spaces_are_predicted_given_constants():
    caption = picture_of(Choice(devices.get("NVIDIA H100 80GB HBM3"), measure="speed")).caption
    assert "Predicted, not measured: the best has" in caption and "GFLOPS" in caption
    with pytest.raises(
        CannotShow, match="No speed is predicted for the NVIDIA RTX A6000.*NVIDIA H100.* or NVIDIA H200"
    ):
        picture_of(Choice(devices.get("RTX A6000"), measure="speed"))


def test_the_static_twin_says_whether_it_is_predicted():
    caption = tuning.small_multiples((("BM", "BN"),)).caption
    assert ("Predicted, not measured" in caption) != ("recorded on" in caption)


def test_only_gpus_that_can_run_the_kernel_are_offered():
    names = [name for name, _ in tuning.explore().device.options]
    assert "NVIDIA RTX A6000" in names and "Tesla T4" not in names
    with pytest.raises(CannotRun, match="autotuned does not run on sm_75, because it uses cp.async"):
        tuning.explore(device="Tesla T4")


def test_unmeasured_best_configuration_shows_a_prediction(searched):
    explorer = tuning.explore(measure="occupancy")
    explorer.size.value = 4096
    best = landscape.landscape_of(H200, 4096).best("occupancy")
    explorer.complete()
    assert best.gflops is None
    assert "GFLOPS, predicted for NVIDIA H200 (" in explorer.stage.note.value
    explorer.measure.value = "floats_a_fma"
    explorer.complete()
    assert "do not fit into registers" in explorer.stage.note.value
    explorer.measure.value = "gflops"
    assert explorer.later() is None


def test_no_speed_is_predicted_for_a_gpu_without_constants():
    explorer = tuning.explore(device="NVIDIA RTX A6000", measure="occupancy")
    assert explorer.later() is None
