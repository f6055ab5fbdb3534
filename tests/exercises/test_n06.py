"""The prediction of notebook 06."""

from helpers.exercises import n06


def test_eight_elements_read_nine_floats_options_are_explained():
    asked = n06.predict_loads()
    assert asked.answer == 9
    assert set(asked.reasons) == {16, 9, 8, 2}


def test_machine_code_reads_each_float_of_Bs_once():
    once = n06.STRIP.solved
    four_times = once.replace("            const float b = Bs[k][x];\n", "").replace("[k] * b", "[k] * Bs[k][x]")
    assert once.count("Bs[k][x]") == four_times.count("Bs[k][x]") == 1 and once != four_times
    assert n06.STRIP.examine(four_times).measures == n06.STRIP.examine(once).measures


def test_caption_counts_the_reads_of_the_floats_that_are_read():
    hunt = n06.OUTER_PRODUCT
    caption = hunt.show(hunt.starter).caption.replace("\u00a0", " ")
    assert caption.endswith("of B's 256 floats 88 are read, each 23.3 times on average.")
