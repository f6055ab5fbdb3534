"""Notebook 04: the numbers in its prose are those of the device and of recorded launches."""

from gemm_kernels import get
from helpers import run
from tests.notebooks.support import H200, linked_terms, said

SHARED = get("shared_memory")


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {
        "shared memory",
        "tile",
        "phases",
        "barrier",
        "race",
        "sanitizer",
        "FMA",
        "wavefronts",
        "register",
    }
    assert terms <= linked_terms("04")


def test_a_tile_of_64_would_need_too_many_threads_and_32_is_below_the_ridge():
    side, _, threads = said("04", r"(\d+) · (\d+) = (\d+) threads")
    assert threads == side**2 > H200.max_threads_per_block
    assert H200.peak_fp32_gflops / H200.memory_gb_per_s > 32 / 4


def test_an_sm_does_four_fmas_of_a_warp_in_a_cycle_and_an_fma_needs_more_than_one_wavefront():
    (fmas,) = said("04", r"in one cycle the SM could do (\w+) FMAs of a warp")
    assert H200.fp32_lanes_per_sm == fmas * 32
    recording = run.record(SHARED.launch(64, 64, 256))
    fmas = recording.counters["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] / 32
    assert recording.total("wavefronts", "shared") > fmas


def test_the_coalesced_kernel_read_a_by_one_sector():
    assert said("04", r"(\w+) sector for (\d+) lanes") == (1, 32)
    recording = run.record(get("coalesced").launch(64, 64, 64))
    assert recording.total("sectors", "global", "ld", "A") == recording.total("requests", "global", "ld", "A")
