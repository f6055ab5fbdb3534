"""The questions of notebook 13: the legal share is counted, and a configuration is judged by rules and predictions."""

import pytest

from helpers.exercises import n13
from helpers.pictures.tuning import facts as landscape


def test_the_predicted_share_is_that_of_the_counted_space():
    legal = sum(not candidate.broken for candidate in landscape.space()) / len(landscape.space())
    assert legal < 0.1
    assert n13.predict_legal().answer == "less than a tenth"


@pytest.mark.parametrize(
    ("changed", "passed", "sentence"),
    [
        ({}, None, "32, the lanes of a warp"),
        ({"WN": 32}, True, "the compiler takes 128 registers, not 136: 25.0%"),
        ({"BN": 256, "BK": 8, "TM": 16}, False, "25% of the warps are wanted"),
        ({"WN": 32, "BLOCKS": 2}, True, "25.0% of the warps"),
        ({"WM": 48}, False, "multiple of WM"),
        ({"BM": 64, "BN": 64, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "BLOCKS": 3}, True, "Legal"),
    ],
)
def test_configuration_gets_its_broken_rule_or_its_prediction(changed, passed, sentence):
    verdict = n13.check_configuration(**{**n13.START, **changed})
    assert verdict.passed is passed
    assert sentence in verdict.sentence
