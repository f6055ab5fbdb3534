"""The prediction of notebook 06."""

from helpers.exercises import n06


def test_a_thread_with_eight_elements_of_one_column_reads_nine_floats_and_every_other_option_is_explained():
    asked = n06.predict_loads()
    assert asked.answer == 9
    assert set(asked.reasons) == {16, 9, 8, 2}
