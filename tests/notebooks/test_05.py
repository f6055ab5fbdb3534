"""Notebook 05: the numbers in its prose are those of the occupancy model, its claims those of the recordings."""

import dataclasses

import pytest

from gemm_kernels import get
from gpusim.occupancy import occupancy
from helpers import course, recordings
from helpers.exercises import n05, residents
from helpers.measure import profiles
from helpers.measure.states import states
from helpers.pictures.block_shapes.facts import recorded
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.scheduler import model as latency
from tests.notebooks.support import H200, answered, prose, said


def test_the_numbers_to_work_with_are_those_of_the_models():
    sm, worked, estimated = n05.A6000, n05.WORKED, n05.ESTIMATED
    latencies = tuple(kind.cycles for kind in (latency.FMA, latency.SHARED, latency.GLOBAL))
    claims = {
        r"about (\d+) cycles for .* \(FMA\), about (\d+) for .*, and about (\d+) for a load": latencies,
        r"of (\d+) threads, (\d+) registers per thread and (\d+) bytes of": dataclasses.astuple(worked),
        r"(\d+) block slots, room for (\d+) warps": (sm.blocks_per_sm, sm.warps_per_sm),
        r"(\d+ \d+) registers and (\d+ \d+) bytes": (sm.registers_per_sm, sm.shared_bytes_per_sm),
        r"for blocks of (\d+) threads with (\d+) bytes": (estimated.threads, estimated.shared_bytes),
    }
    assert {pattern: said("05", pattern) for pattern in claims} == claims


def test_one_register_more_costs_the_tiled_kernel_two_blocks():
    taken = resources_of(course.kernel("tiled"), H200.arch)
    assert [occupancy(H200, 256, taken.registers + more, taken.shared_bytes).blocks for more in (0, 1)] == [8, 6]


def test_achieved_occupancy_is_a_little_below_theoretical():
    for name in ("coalesced", "shared_memory", "block_tile_1d", "block_tile_2d", "ping_pong"):
        share = states(name, 2048).warps / (H200.warps_per_sm / 4)
        theory = resources_of(get(name), H200.arch).occupancy(H200).fraction
        assert 0.9 * theory < share < theory


def test_blocks_of_one_sm_and_the_price_of_a_room_are_recorded():
    resident = residents.residents()
    assert resident.label == "recorded on NVIDIA H200" and resident.used == H200.sms and len(resident.blocks) == 8
    speeds = {row["params"]["shared_bytes"]: row["time"][0] for row in recordings.raw(H200.name, "residents")["rows"]}
    assert speeds[40000] > speeds[2048], "fewer warps take longer"


def test_launch_bounds_trade_registers_for_blocks_as_noted():
    mine = course.kernel("tiled")
    blocks = []
    for bound in (8, 4, 1):
        text = mine.source.replace("__global__ void", f"__global__ void __launch_bounds__(256, {bound})")
        blocks.append(resources_of(dataclasses.replace(mine, source=text), H200.arch).occupancy(H200).blocks)
    assert blocks == [8, 4, 2] and "With bounds for one block it takes far fewer than it may, so that two fit" in prose(
        "05"
    )


def test_the_answers_to_the_explorers_questions():
    assert occupancy(H200, 32, 16).warps == H200.warps_per_sm / 2, "as the block slots are full"
    later = [kernel for kernel, _ in profiles.ladder(1024, 1024, 1024)][4:]
    for kernel in later:
        taken = resources_of(kernel, H200.arch)
        assert "registers" in taken.occupancy(H200).limiters, kernel.name


def test_block_of_64_by_1_threads_is_full_and_as_slow_as_32():
    speed = {shape: recorded(get("coalesced"), shape, 2048).gflops for shape in ((32, 1), (64, 1), (32, 2))}
    assert speed[64, 1] == pytest.approx(speed[32, 1], rel=0.02) and speed[32, 2] > 1.4 * speed[32, 1]


def test_fewer_warps_are_faster_among_the_pictured_kernels():
    *known, last = profiles.ladder(1024, 1024, 1024)
    dots = [(ncu.occupancy, recordings.gflops(kernel, 4096, 4096, 4096).gflops) for kernel, ncu in (*known[2:5], last)]
    assert sorted(dots, reverse=True) == sorted(dots, key=lambda dot: dot[1])


def test_a_few_blocks_per_place_are_enough():
    kernel = get("shared_memory")
    speeds = {size: recordings.gflops(kernel, size, size, size).gflops for size in (256, 1024, 4096)}
    assert speeds[256] < 0.3 * speeds[4096] and speeds[1024] > 0.9 * speeds[4096]


def test_the_cell_of_the_function_takes_the_solution():
    whole = n05.BLOCKS_THAT_FIT.solved.text
    body = whole.split("\n", 1)[1]
    assert answered("05", "occupancy_function.check", "    return None", body).passed is True


def test_unused_room_alone_keeps_the_kernel_from_filling_the_sm():
    registers = resources_of(course.kernel("room_at_launch"), H200.arch).registers
    full = [occupancy(H200, T * T, registers, 8 * T * T).warps for T in (8, 16, 32)]
    assert full == [H200.warps_per_sm] * 3 and "fill the SM with 64 warps" in prose("05")
    assert occupancy(H200, 256, registers, 40000).warps < H200.warps_per_sm


def test_a_second_block_pays_where_there_are_blocks_for_it():
    def gain(size: int) -> float:
        few, many = (recordings.gflops(get("double_buffered", BLOCKS=n), size, size, size).gflops for n in (1, 2))
        return many / few - 1

    assert 0.02 < gain(2048) < 0.08 and 0.02 < gain(4096) < 0.08 and gain(1024) < -0.02


def test_more_warps_help_only_until_a_unit_is_full():
    assert latency.issue_rate(16, 1, 23, every=4) == latency.issue_rate(16, 4, 23, every=4) == 0.25
