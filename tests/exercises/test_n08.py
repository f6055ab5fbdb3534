"""The prediction of notebook 08."""

from helpers.exercises import n08


def test_transposed_store_takes_8_wavefronts_options_explained():
    prediction = n08.predict_store()
    assert prediction.answer == 8
    assert set(prediction.reasons) == {1, 4, 8, 32}
