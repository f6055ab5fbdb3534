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


def test_limit_that_leaves_few_warps_is_the_one_that_is_named():
    deep = {"BM": 128, "BN": 32, "BK": 64, "TM": 8, "TN": 8}
    sentence = n06.PATCH_SIZE.check(deep).sentence
    assert sentence.replace("\u202f", " ").endswith(
        "A block takes 41 984 of the 233 472 bytes of shared memory, so 5\u00a0blocks of 2\u00a0warps fit."
    )


def test_sums_in_local_memory_need_not_lack_registers():
    sentence = n06.PATCH_SIZE.check({"BM": 64, "BN": 32, "BK": 8, "TM": 16, "TN": 4}).sentence
    assert sentence.endswith("bytes per thread are kept in memory, not in registers.")
    assert "128 registers, 32 threads" in sentence
