"""Notebook 01: the numbers in its prose are those of the roofline, and its claims those of the recordings."""

from gemm_kernels import get
from helpers import devices
from helpers.measure import recordings
from helpers.models import roofline, traffic
from tests.notebooks.support import H200, linked_terms, said

H20, ADA = (devices.get(name) for name in ("NVIDIA H20", "RTX 6000 Ada"))


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"FLOP", "cache lines", "roof", "ridge", "arithmetic intensity"}
    assert terms <= linked_terms("01")


def test_the_h20_bends_where_it_is_said_to_and_the_h200_too():
    ridges = tuple(round(roofline.ridge_point(device)) for device in (H20, H200))
    assert said("01", r"about (\d+) FLOP a byte instead of (\d+)") == ridges


def test_memory_is_the_limit_at_the_depth_that_is_said():
    def bound(device: devices.Device, K: int) -> str:
        return roofline.bound(device, traffic.compulsory(4096, 4096, K).intensity)

    ada, h200 = said("01", r"limit at K = (\d+) already\. On the H200 even K = (\d+)")
    assert [bound(ADA, K) for K in (2 * ada, ada)] == ["compute", "memory"] and bound(H200, h200) == "compute"


def test_arithmetic_is_the_longer_floor_on_every_gpu_of_the_table_by_far():
    for name in ("A100 80GB", "RTX A6000", "RTX 6000 Ada", "H20", "H200"):
        floor = roofline.fastest_time(devices.get(name), 4096, 4096, 4096, beta=1.0)
        assert floor.compute_ms > 5 * floor.memory_ms


def test_the_coalesced_kernel_is_faster_than_what_it_asks_for_could_move():
    kernel = get("coalesced")
    asked_ms = traffic.requested(kernel, 4096, 4096, 4096).total / H200.memory_gb_per_s / 1e6
    assert recordings.gflops(kernel, 4096, 4096, 4096).median_ms < asked_ms / 2
