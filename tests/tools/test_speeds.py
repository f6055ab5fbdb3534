"""The predicted speeds of the tuning space: of today's model and kernel, for every choice, and right."""

import random

import pytest

from gpusim import devices
from gpusim.timing import prediction
from helpers import cycles, recordings
from helpers.pictures.tuning import facts as landscape
from helpers.tools import speeds

WANTED = [choice.params for choice in landscape.landscape_of(devices.DEFAULT).legal if not choice.predicted.spills]
QUICK = [params for params in WANTED if params["TM"] * params["TN"] <= 32]  # whose loops are traced in part


@pytest.mark.parametrize("gpu", speeds.GPUS)
def test_speeds_are_of_todays_model_for_every_configuration(gpu):
    content = recordings.raw(gpu, landscape.PREDICTED)
    assert content["gpu"] == gpu and speeds.about(gpu).items() <= content.items(), "python -m helpers.tools.speeds"
    predicted = landscape.predicted_speeds(gpu)
    assert {tuple(params.values()) for params in WANTED} == predicted.keys()
    assert all(0 < speed < devices.get(gpu).peak_fp32_gflops for speed in predicted.values())


@pytest.mark.parametrize(
    "params", random.Random(2).sample(QUICK, 2), ids=lambda params: "-".join(map(str, params.values()))
)
def test_they_are_what_the_model_says_today(params):
    again = speeds.gflops(params)
    assert again == [landscape.predicted_speeds(gpu)[tuple(params.values())] for gpu in speeds.GPUS]


def test_unpredictable_configuration_is_named_and_left_out(monkeypatch, capsys):
    def fails(*_):
        raise cycles.NoConstants("no constants")

    monkeypatch.setattr(prediction, "predict", fails)
    assert speeds.predicted(WANTED[0]) is None and "no constants" in capsys.readouterr().err
