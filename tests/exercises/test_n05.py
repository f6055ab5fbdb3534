"""Questions of notebook 05: blocks on an SM."""

import dataclasses
import re

import pytest

from gpusim.occupancy import occupancy
from helpers import course
from helpers.exercises import n05
from helpers.exercises.framework.functions import answers_of
from helpers.exercises.n05 import (
    BLOCKS_THAT_FIT,
    DEEP_TILES,
    H200,
    MOST_REGISTERS,
    TILED,
)
from helpers.pictures.occupancy.facts import resources_of


def test_a_published_kernel_fits_once_on_an_a6000():
    asked = n05.predict_blocks()
    assert asked.answer == 1 and set(asked.reasons) == {1, 2, 11, 16}
    assert "51 warps, in fours 48, 1 block" in asked.reasons[1] and asked.reasons[1].endswith("are 66.7\u202f%.")
    taken = resources_of(course.kernel("tiled"), H200.arch)
    assert (taken.threads, taken.registers, taken.shared_bytes) == (TILED.threads, TILED.registers, TILED.shared_bytes)


def test_the_block_worked_out_by_hand_meets_every_rounding():
    occupied = occupancy(n05.SMALL, n05.BY_HAND.threads, n05.BY_HAND.registers, n05.BY_HAND.shared_bytes)
    assert occupied.limits == {"blocks": 4, "warps": 2, "registers": 1, "shared": 3}
    assert (occupied.warps_per_block, occupied.registers_per_warp, occupied.shared_bytes_per_block) == (3, 1024, 2048)
    assert occupied.fraction == 3 / 8


def test_solution_is_right_for_every_launch_the_driver_answered():
    verdict = BLOCKS_THAT_FIT.check(BLOCKS_THAT_FIT.solved)
    assert verdict.passed and "all 1\u202f584 launches" in verdict.sentence


def test_a_function_of_another_form_is_right_if_its_numbers_are():
    def mine(gpu, threads, registers, shared_bytes):
        occupied = occupancy(gpu, threads, registers, shared_bytes)
        return float(min(occupied.limits.values()))

    assert BLOCKS_THAT_FIT.check(mine).passed is True


def test_mistakes_are_distinguished_by_their_results():
    cases = n05.function_cases()
    results = {answers_of(wrong, cases) for wrong, _ in n05.MISTAKES}
    assert len(results) == len(n05.MISTAKES) >= 12
    assert answers_of(BLOCKS_THAT_FIT.solved, cases) not in results


@pytest.mark.parametrize("wrong", [mistake for mistake, _ in n05.MISTAKES], ids=repr)
def test_mistake_is_shown_by_a_block_both_answers_and_a_reason(wrong):
    sentence = BLOCKS_THAT_FIT.check(wrong).sentence.replace("\u00a0", " ")
    assert re.match(
        r"\d+ threads, \d+ registers per thread, \d+ bytes .* on the (H200|RTX A6000): \d+ blocks? fit", sentence
    )
    assert re.search(r"and your function (returns \d|ends with a division by zero)", sentence)
    assert re.search("\n(?:Why|Clue): ", sentence), sentence


def test_an_unknown_mistake_is_answered_with_the_four_limits():
    sentence = BLOCKS_THAT_FIT.check(lambda *_: 3).sentence.replace("\u00a0", " ")
    assert "8 blocks fit, and your function returns 3. The four limits are: blocks 32, warps 8" in sentence


def test_function_that_raises_or_gives_no_number_gets_a_sentence():
    def zero(*_):
        return 1 // 0

    assert "your function ends with a division by zero. The four limits" in BLOCKS_THAT_FIT.check(zero).sentence
    assert "ends with TypeError: " in BLOCKS_THAT_FIT.check(lambda: 1).sentence
    assert "returns 'eight'; a number is asked for" in BLOCKS_THAT_FIT.check(lambda *_: "eight").sentence
    assert "without brackets" in BLOCKS_THAT_FIT.check(8).sentence


def test_forgotten_reserved_bytes_are_named_in_any_spelling():
    def mine(gpu, threads, registers, shared_bytes):
        units = -(-shared_bytes // 128)
        return min(BLOCKS_THAT_FIT.solved(gpu, threads, registers, 0), gpu.shared_bytes_per_sm // (units * 128))

    sentence = BLOCKS_THAT_FIT.check(mine).sentence
    assert (
        "0 bytes of shared memory" in sentence
        and "ends with a division by zero.\nClue: A known mistake gives exactly your answers." in sentence
        and "“The system keeps 1024" in sentence
    )


def test_registers_of_a_warp_are_rounded_up():
    def mine(gpu, threads, registers, shared_bytes):
        return BLOCKS_THAT_FIT.solved(gpu, threads, max(round(registers * 32 / 256), 1) * 8, shared_bytes)

    verdict = BLOCKS_THAT_FIT.check(mine)
    assert verdict.passed is False and "33 registers per thread" in verdict.sentence


def test_a_function_without_a_body_waits_and_is_not_remembered():
    assert BLOCKS_THAT_FIT.judge(BLOCKS_THAT_FIT.starter).passed is None
    assert BLOCKS_THAT_FIT.judge(lambda *_: None).passed is None


def test_cell_is_an_empty_function_and_hints_end_in_it_whole():
    _, cell, _ = BLOCKS_THAT_FIT.cells()
    assert cell.startswith("def blocks_that_fit(gpu, ") and cell.endswith(
        "\n\n\noccupancy_function.check(blocks_that_fit)"
    )
    assert "return min(by_warps" in BLOCKS_THAT_FIT.hint()._repr_mimebundle_()["text/html"]


def test_notebook_uses_the_learners_function_once_it_is_right():
    def mine(*block):
        return BLOCKS_THAT_FIT.solved(*block)

    assert BLOCKS_THAT_FIT.go_on_with(mine) is mine
    assert BLOCKS_THAT_FIT.go_on_with(lambda *_: 3) is BLOCKS_THAT_FIT.solved
    assert BLOCKS_THAT_FIT.go_on_with(BLOCKS_THAT_FIT.starter) is BLOCKS_THAT_FIT.solved


def test_a_version_is_made_by_changing_text_that_is_there():
    with pytest.raises(ValueError, match="has no text 'nothing'"):
        BLOCKS_THAT_FIT.solved.replace("other", ("nothing", "something"))


@pytest.mark.parametrize(("gpu", "threads", "blocks"), n05.TRADES)
def test_the_registers_of_the_trade_fit_and_one_more_does_not(gpu, threads, blocks):
    most = MOST_REGISTERS.solved(gpu, threads, blocks)
    assert most == n05.registers_that_fit(gpu, threads, blocks)
    if most:
        assert occupancy(gpu, threads, most).blocks >= blocks
    if 0 < most < gpu.registers_per_thread:
        assert occupancy(gpu, threads, most + 1).blocks < blocks


def test_usual_mistakes_are_distinguished_by_their_results():
    cases = n05.trade_cases()
    results = {answers_of(wrong, cases) for wrong, _ in n05.TRADE_MISTAKES}
    assert len(results) == len(n05.TRADE_MISTAKES) >= 12
    assert answers_of(MOST_REGISTERS.solved, cases) not in results


def test_the_trades_worked_out_by_hand_are_right():
    registers = {blocks: MOST_REGISTERS.solved(H200, TILED.threads, blocks) for blocks in (8, 4, 3, 1)}
    assert registers == {8: 32, 4: 64, 3: 80, 1: 255}


@pytest.mark.parametrize("blocks", [8, 4, 1])
def test_the_compiler_never_takes_more_than_the_trade_allows(blocks):
    bounded = course.kernel("tiled")
    text = bounded.source.replace("__global__ void", f"__global__ void __launch_bounds__(256, {blocks})")
    taken = resources_of(dataclasses.replace(bounded, source=text), H200.arch).registers
    assert taken <= MOST_REGISTERS.solved(H200, 256, blocks)


def test_estimate_compiler_and_profiler_are_three_columns():
    estimated, compiled, published = n05.asked_three_times().values()
    assert estimated == {"blocks": 24, "warps": 6, "registers": 3, "shared": 11, n05.SHARE: 50}
    assert compiled["registers"] == published["registers"] == 2
    assert compiled[n05.SHARE] == pytest.approx(published[n05.SHARE], abs=0.01)


def test_shared_memory_limits_deep_tiles_but_not_the_solution():
    assert "Shared memory stops the 14th block" in DEEP_TILES.show().caption
    assert "25 blocks of 2 warps" in DEEP_TILES.show(DEEP_TILES.solved).caption.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("exercise", "changes", "reason"),
    [
        (
            n05.BLOCKS_THAT_FIT,
            [("registers * 32 / 256", "registers / 256")],
            "A warp has those of 32 threads",
        ),
        (n05.BLOCKS_THAT_FIT, [("by_warps, ", "")], "Warps never decide here"),
        (n05.BLOCKS_THAT_FIT, [(" // 4 * 4", ""), ("registers // warps", "registers // warps // 4 * 4")], "the blocks"),
        (n05.BLOCKS_THAT_FIT, [("return min", "fitting = min")], "Your function computes something and returns None"),
        (n05.MOST_REGISTERS, [("math.ceil(threads / 32) * blocks", "threads * blocks // 32")], "never share a warp"),
    ],
    ids=["one_thread", "no_warps", "blocks_in_fours", "no_return", "all_threads_down"],
)
def test_a_slip_in_a_function_is_named(exercise, changes, reason):
    answered = exercise.judge(exercise.solved.replace("typed", *changes)._function)
    assert answered.passed is False and reason in answered.sentence


def test_a_limit_in_parts_of_blocks_is_to_be_rounded_down():
    parts = BLOCKS_THAT_FIT.solved.replace("parts", ("gpu.shared_bytes_per_sm //", "gpu.shared_bytes_per_sm /"))
    assert "\nWhy: Rounded down, all your answers are right." in BLOCKS_THAT_FIT.check(parts).sentence


def test_room_that_the_goal_allows_is_no_waste():
    deep = DEEP_TILES.check(DEEP_TILES.solved.replace("DEPTH 128", "DEPTH 136"))
    assert deep.passed and "Right, but" not in deep.sentence


def test_tiles_left_out_leave_no_requests_that_are_worse():
    guarded = "k0 + k < K && col < N ? B[(k0 + k) * N + col] : 0.0f"
    lines = [line for line in DEEP_TILES.solved.splitlines(keepends=True) if not line.strip().startswith("Bs[d + y]")]
    verdict = DEEP_TILES.check("".join(lines).replace("* Bs[k][x]", f"* ({guarded})"))
    assert verdict.passed and "(wavefronts) on average" not in verdict.sentence
