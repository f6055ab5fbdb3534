"""The prediction of notebook 10: its answer comes from the model of a pipeline."""

from helpers.exercises import n10


def test_the_prediction_is_answered_by_the_pipeline_model():
    prediction = n10.predict_idle()
    assert prediction.answer == 240
    assert len(prediction.reasons) == 4
