"""The prediction of notebook 07."""

from helpers.exercises import n07


def test_a_store_to_the_transposed_tile_takes_eight_wavefronts_and_every_other_option_is_explained():
    prediction = n07.predict_store()
    assert prediction.answer == 8
    assert set(prediction.reasons) == {1, 4, 8, 32}
