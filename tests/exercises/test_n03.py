"""The prediction of notebook 03."""

from helpers.exercises import n03


def test_the_naive_load_takes_thirty_two_sectors_as_recorded_and_every_other_option_is_explained():
    question = n03.predict_naive_load()
    assert question.answer == 32 and list(question.reasons) == [1, 4, 16, 32]
    assert repr(question).startswith("Predict. Sectors for one load of A")
