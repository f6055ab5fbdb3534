"""Notebook 07: the numbers in its prose are those of its example, of the recorded profiles and of the predictions."""

import pytest

from gemm_kernels import get
from helpers import course, cycles, devices, run
from helpers.analysis import budget, warp_states
from helpers.exercises import n07
from helpers.profile import profile
from tests.notebooks.support import H200, linked_terms, said

SIZE = 2048
NAMES = ("shared_memory", "block_tile_1d", "block_tile_2d")


@pytest.fixture(scope="module")
def bars():
    return {name: budget.k_step(name) for name in (*NAMES, "swizzled", "vectorized", "double_buffered", "stream_k")}


@pytest.fixture(scope="module")
def predictions():
    return {name: cycles.predict(get(name).launch(SIZE, SIZE, SIZE)) for name in NAMES}


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"k-step", "profile", "stall reason", "scoreboard", "throttle", "predicted time"}
    assert terms <= linked_terms("07")


def test_a_k_step_has_the_multiply_adds_the_fmas_and_the_cycles_that_the_question_says():
    side, other, fmas, each = said(
        "07", r"It has (\d+) · (\d+) multiply-adds, which are (\d+) FMAs of warps, (\d+) for"
    )
    (least,) = said("07", r"a k-step takes \*\*at least (\d+) cycles")
    assert side == other == budget.SIDE and fmas == side * other / 32
    assert fmas / devices.SCHEDULERS == each == least == budget.K_STEP


def test_in_three_of_four_cycles_the_fastest_kernel_does_not_multiply():
    idle, of = said("07", r"In (\w+) of (\w+) cycles your fastest kernel does not multiply")
    speeds = {name: course.speed(name, SIZE) for name in ("tiled", "strip", "patch")}
    fastest = max(speeds.values(), key=lambda one: one.gflops)
    assert fastest is speeds["patch"]
    fmas = SIZE**3 / 32 / H200.sms / devices.SCHEDULERS
    share = fmas / (fastest.median_ms * H200.clock_mhz * 1e3)
    assert 1 - share == pytest.approx(idle / of, abs=0.02)


def test_the_sixteen_cycles_are_counted_as_the_table_says():
    small = n07.by_hand()
    fma, other, idle = said("07", r"(\d+) cycles issue an FMA, (\d+) issues another instruction, and (\d+) issue")
    issued = list(small.issued)
    assert [issued.count(one) for one in (warp_states.FMA, warp_states.OTHER, warp_states.AWAY)] == [fma, other, idle]
    far, barrier, wait, whole = said(
        "07",
        r"Long Scoreboard \(global memory\) \| (\d+) .*?block\) \| (\d+) .*?before\) \| (\d+) .*?together \| (\d+)",
    )
    assert small.waits == {"long_scoreboard": far, "barrier": barrier, "wait": wait} and far + barrier + wait == whole
    shares = budget.shared_out(small.cycles, fma + other, small.waits)
    assert {name: round(value, 2) for name, value in shares.items()} == {
        "long_scoreboard": 1.60, "barrier": 2.08, "wait": 0.32,
    }  # fmt: skip
    assert fma + other + sum(shares.values()) == pytest.approx(small.cycles) == 16


def test_the_four_idle_cycles_alone_blame_the_barrier_more():
    small = n07.by_hand()
    first, last, far = said("07", r"In cycles (\d+) to (\d+) warp 0 waits for global memory, (\d+) cycles")
    (barrier,) = said("07", r"warps 1 and 2 at the barrier, (\d+)\.")
    columns = list(zip(*small.rows, strict=True))
    idle = [n + 1 for n, column in enumerate(columns) if not {"fma", "other"} & set(column)]
    assert idle == list(range(first, last + 1))
    states = [state for n in idle for state in columns[n - 1]]
    assert (states.count("long_scoreboard"), states.count("barrier")) == (far, barrier)
    assert (round(4 * far / 12, 2), round(4 * barrier / 12, 2)) == (1.33, 2.67)


def test_the_bars_add_up_to_the_time_that_was_recorded():
    states = budget.recordings.raw(H200.name, "states")
    for row in states["rows"]:
        if row["kernel"] in NAMES and row["size"] == SIZE:
            microseconds = row["metrics"]["gpu__time_duration.sum"] / 1e3
            fmas = SIZE**3 / 32 / H200.sms / devices.SCHEDULERS
            each = microseconds * H200.clock_mhz / fmas * budget.K_STEP
            assert budget.k_step(row["kernel"]).total == pytest.approx(each, rel=1e-6)


def test_shared_memory_waits_for_its_queue_most_and_block_tile_2d_for_nothing_in_particular(bars):
    first, last = bars["shared_memory"], bars["block_tile_2d"]
    assert first.largest == "mio_throttle"
    assert last.waits["mio_throttle"] < 0.05 * first.waits["mio_throttle"] and last.other < first.other / 4
    assert max(last.waits.values()) < 1.5 * sorted(last.waits.values())[-4]
    assert max(last.waits.values()) < last.total / 8  # no single change halves the time


def test_the_queue_to_shared_memory_is_full_most_of_the_time(bars):
    one = bars["shared_memory"]
    assert one.waits["mio_throttle"] > max(value for name, value in one.parts.items() if name != "mio_throttle")


def test_later_kernels_lose_the_parts_that_the_text_names(bars):
    assert bars["vectorized"].other < 0.6 * bars["block_tile_2d"].other
    assert bars["double_buffered"].waits["long_scoreboard"] < 0.1 * bars["vectorized"].waits["long_scoreboard"]
    share, of = said("07", r"at the end an FMA is issued in (\w+) of (\w+) cycles")
    assert bars["stream_k"].fma / bars["stream_k"].total == pytest.approx(share / of, abs=0.03)


def test_the_predicted_bars_are_as_long_as_the_recorded_ones_and_err_where_the_text_says(bars, predictions):
    ours = {name: budget.predicted(found, name, (SIZE,) * 3) for name, found in predictions.items()}
    for name in NAMES:
        assert ours[name].total == pytest.approx(bars[name].total, rel=0.10)
        assert ours[name].waits["long_scoreboard"] > bars[name].waits["long_scoreboard"]
        assert ours[name].fma == pytest.approx(bars[name].fma) == budget.K_STEP
    mine, theirs = ours["shared_memory"].waits, bars["shared_memory"].waits
    assert mine["barrier"] > 3 * theirs["barrier"] and mine["mio_throttle"] < theirs["mio_throttle"] / 2


def test_the_scheduler_of_block_tile_2d_has_four_warps_and_now_and_then_none_can_issue(predictions):
    states = warp_states.predicted_states(predictions["block_tile_2d"], 6000, 300)
    (warps,) = said("07", r"(\w+) warps are few")
    assert len(states.rows) == warps and warp_states.AWAY in states.issued
    assert states.waits["short_scoreboard"] > sum(states.waits.values()) / 2
    for column, issued in zip(zip(*states.rows, strict=True), states.issued, strict=True):
        at_once = sum(state in (warp_states.FMA, warp_states.OTHER) for state in column)
        assert at_once == (issued != warp_states.AWAY)
        assert issued != warp_states.AWAY or warp_states.READY not in column


def test_the_page_names_latency_and_a_load_of_the_tile_of_a_first():
    page = profile(get("block_tile_2d").launch(SIZE, SIZE, SIZE))
    assert page.prediction.kind == "latency"
    assert page.hot[0].text.startswith("As[") and page.hot[0].waits_for == "long_scoreboard"


def test_of_the_three_changes_only_the_many_threads_per_column_help():
    slow, large, eight, mended = (one.total for one in n07.changes())
    assert mended < slow / 4 and large > 0.9 * slow and eight > slow
    assert n07.predict_change().answer == n07.SHARED_OUT


def test_the_compiler_puts_more_than_eight_loads_of_the_slow_kernel_side_by_side():
    program = cycles.traced(run_of(n07.SLOW, (n07.BLOCK,))).program
    opcodes = [one.opcode.split(".")[0] for one in program.instructions]
    runs = "".join("L" if one == "LDG" else "+" if one == "FADD" else "" for one in opcodes).split("+")
    assert max(map(len, runs)) > 8


def run_of(source, block):
    return n07.caught(source, block)


def test_the_slow_kernel_is_coalesced_and_keeps_no_unit_busy():
    found = n07.predicted(n07.SLOW, (n07.BLOCK,))
    assert found.kind == "latency" and found.busy < 0.2
    (load,) = (one for one in profile(run_of(n07.SLOW, (n07.BLOCK,))).accesses if one.op == "ld")
    assert load.cost == load.ideal


def test_the_mended_kernel_is_limited_by_dram_and_fetches_each_float_once():
    found = n07.predicted(n07.COLUMN_SUMS.solved, (n07.WIDE, n07.TALL))
    assert found.kind == "dram" and found.busy > 0.75
    trace = found.trace
    blocks = trace.grid[0]
    loaded = sum(one.cost for one in profile(run_of(n07.COLUMN_SUMS.solved, (n07.WIDE, n07.TALL))).accesses
                 if (one.space, one.op) == ("global", "ld")) * blocks  # fmt: skip
    assert loaded * 32 == n07.M * n07.N * 4


def test_the_command_at_the_end_profiles_the_mended_kernel(tmp_path, capsys):
    from helpers.profile.__main__ import main

    file = tmp_path / "sums.cu"
    file.write_text(n07.SLOW, encoding="utf-8")
    grid, block, rows, columns = said("07", r"sums.cu column_sums --grid (\d+) --block (\d+) --args (\d+) (\d+) ")
    assert (block, rows, columns) == (n07.BLOCK, n07.M, n07.N) and grid * block == columns
    given = ["--grid", str(grid), "--block", str(block), "--args", str(rows), str(columns)]
    assert main([str(file), "column_sums", *given, f"{rows}x{columns}", str(columns)]) == 0
    assert "long_scoreboard" in capsys.readouterr().out


def test_kernels_of_the_notebook_run():
    assert run.simulated(n07.EIGHT_SUMS, "column_sums").num_regs > 0
