"""The prediction of notebook 09."""

from helpers.exercises import n09


def test_float4_request_takes_16_sectors_options_are_explained():
    prediction = n09.predict_sectors()
    assert prediction.answer == 16
    assert set(prediction.reasons) == {4, 8, 16, 64}
