"""The prediction of notebook 08."""

from helpers.exercises import n08


def test_a_store_to_the_transposed_tile_takes_eight_wavefronts_and_every_other_option_is_explained():
    prediction = n08.predict_store()
    assert prediction.answer == 8
    assert set(prediction.reasons) == {1, 4, 8, 32}
