"""Counters of a whole launch by names in words."""

from gemm_kernels import get
from helpers.pictures.diff.facts import COUNTERS, counted


def test_every_counter_has_its_name_and_the_launch_its_threads():
    counters, level = counted(get("padded").launch(128, 128, 16))
    assert level == "sass" and list(counters) == [*COUNTERS, "threads of the launch"]
    assert counters["threads of the launch"] == get("padded").threads
    conflicts = counted(get("transposed").launch(128, 128, 16))[0]["shared stores: wavefronts"]
    assert conflicts > counters["shared stores: wavefronts"] >= counters["shared stores: requests"]
