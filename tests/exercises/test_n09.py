"""The prediction of notebook 09."""

from helpers.exercises import n09


def test_a_request_of_float4_takes_sixteen_sectors_and_every_other_option_is_explained():
    prediction = n09.predict_sectors()
    assert prediction.answer == 16
    assert set(prediction.reasons) == {4, 8, 16, 64}
