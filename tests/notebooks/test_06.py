"""Notebook 06: the numbers in its prose are those of the compiler and the model, its claims those of the recordings."""

from gemm_kernels import get
from helpers import run
from helpers.measure import recordings
from helpers.models.traffic import shared_loads_per_fma
from helpers.occupancy import occupancy
from tests.notebooks.support import H200, linked_terms, said

SHARED, ONE_D, TWO_D = (get(name) for name in ("shared_memory", "block_tile_1d", "block_tile_2d"))


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {
        "fragment",
        "inner product",
        "outer product",
        "PTX",
        "SASS",
        "Unrolling",
        "spills",
        "local memory",
    }
    assert terms <= linked_terms("06")


def test_from_8_by_8_to_16_by_8_the_occupancy_halves_and_the_loads_fall_by_a_quarter():
    assert said("06", r"from (\d+) × (\d+) to (\d+) × (\d+) the occupancy halves") == (8, 8, 16, 8)
    assert shared_loads_per_fma(16, 8) == 0.75 * shared_loads_per_fma(8, 8)
    shares = []
    for kernel in (TWO_D, TWO_D.replace(TM=16)):
        taken = run.compiled(kernel, H200.arch)
        shares.append(occupancy(H200, kernel.threads, taken.registers, taken.shared_bytes).fraction)
    assert shares[1] == shares[0] / 2


def test_256_sums_do_not_fit_into_registers():
    registers, sums = said("06", r"at most (\d+) registers, and (\d+) sums do not fit")
    assert registers == 255 < sums == 16 * 16
    kernel = TWO_D.replace(TM=16, TN=16, BM=256, BN=256)
    assert run.compiled(kernel, H200.arch).local_bytes > 1024


def test_up_to_1024_the_2d_tile_has_fewer_blocks_than_there_are_sms_and_a_simpler_kernel_wins():
    (last,) = said("06", r"Up to (\d+) the 2-D tile has fewer blocks than the GPU has SMs")
    for size in (256, 512, 1024, 2048):
        blocks = TWO_D.grid(size, size)
        small = blocks[0] * blocks[1] < H200.sms
        fastest = max((SHARED, ONE_D, TWO_D), key=lambda kernel: recordings.gflops(kernel, size, size, size).gflops)
        assert small == (size <= last) == (fastest is not TWO_D)


def test_one_line_costs_four_times_as_many_wavefronts_as_the_other():
    (times,) = said("06", r"one of them costs (\w+) times as many wavefronts as the other")
    recording = run.record(TWO_D.launch(128, 128, 64))
    costs = {
        line.text.split("=")[-1].strip()[:2]: line.total("wavefronts", "shared", "ld")
        for line in recording.by_line()
        if line.total("requests", "shared", "ld")
    }
    assert costs["Bs"] == times * costs["As"]


def test_thread_40_has_the_patch_that_is_said():
    thread, number, row = said("06", r"Thread (\d+) is number (\d+) in row (\d+) of that arrangement")
    assert divmod(thread, 16) == (row, number) and TWO_D.threads == 16 * 16
