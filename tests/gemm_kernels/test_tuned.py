"""The parameters that a search chose: found by shape, legal, and answered with a sentence where there are none."""

import json

import pytest

from gemm_kernels import autotuned, get, tuned


def test_a_searched_shape_gets_what_was_chosen_for_it():
    rows = json.loads(tuned.FILE.read_text(encoding="utf-8"))[tuned.DEFAULT_GPU]
    assert len(rows) == len(tuned.shapes()) >= 16
    for row in rows:
        assert dict(autotuned(row["M"], row["N"], row["K"]).params) == row["params"]


def test_the_kernel_without_a_shape_is_the_one_for_large_matrices():
    assert get("autotuned") == autotuned(4096, 4096, 4096) == autotuned(4000, 4100, 4200)


@pytest.mark.parametrize(
    ("asked", "searched"),
    [((300, 250, 240), (256, 256, 256)), ((1, 5000, 3000), (1, 4096, 4096)), ((60, 4000, 1100), (64, 4096, 1024))],
)
def test_another_shape_gets_what_the_nearest_one_has(asked, searched):
    assert searched in tuned.shapes()
    assert tuned.params(*asked) == tuned.params(*searched)


def test_small_matrices_get_slices_and_large_ones_large_tiles():
    small, large = autotuned(256, 256, 256).params, autotuned(8192, 8192, 8192).params
    assert small["SLICES"] > 1 == large["SLICES"]
    assert small["BM"] * small["BN"] < large["BM"] * large["BN"]


def test_a_gpu_that_nobody_searched_on_is_answered_with_what_to_do():
    with pytest.raises(ValueError, match=r"on 'GPU Y'\. Run `python -m helpers\.measure tune` .* 'NVIDIA H200'"):
        autotuned(64, 64, 64, gpu="GPU Y")
    with pytest.raises(ValueError, match="K = 0, but a matrix has at least one"):
        autotuned(64, 64, 0)


def test_what_is_given_out_can_be_changed_without_harm():
    tuned.params(512, 512, 512)["BM"] = 7
    assert tuned.params(512, 512, 512)["BM"] != 7
