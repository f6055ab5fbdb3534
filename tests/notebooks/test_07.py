"""Notebook 07: the numbers in its prose are those of its example, of the recorded profiles and of the predictions."""

import pytest

from gemm_kernels import get
from helpers import cycles
from helpers.exercises import n07
from helpers.exercises.framework.exercise import code_of
from helpers.measure import profiled
from helpers.pictures.budget import facts as budget
from helpers.pictures.host_timeline import facts as host_timeline
from helpers.pictures.hot_lines import explorer as hot_lines
from helpers.pictures.hot_lines.facts import asked
from helpers.pictures.mix import facts as mix
from helpers.pictures.warp_states import facts as warp_states
from helpers.profile import profile
from helpers.profile.__main__ import main
from tests.notebooks.support import prose, said, sources, speeds

SIZE = 2048
NAMES = ("shared_memory", "block_tile_1d", "block_tile_2d")


@pytest.fixture(scope="module")
def bars():
    return {name: budget.k_step(name) for name in NAMES}


@pytest.fixture(scope="module")
def predictions():
    return {name: cycles.predict(get(name).launch(SIZE, SIZE, SIZE)) for name in NAMES}


def test_the_sixteen_cycles_are_counted_as_the_prose_says():
    small = n07.by_hand()
    idle = [cycle for cycle, state in enumerate(small.issued, start=1) if state == warp_states.AWAY]
    away = [small.issued[cycle - 1] != warp_states.AWAY and small.rows[0][cycle - 1] == "long_scoreboard"
            for cycle in range(1, 17)]  # fmt: skip
    claims = {
        r"(\d+) cycles issue an FMA, (\d+) issues another instruction, and (\d+) issue": tuple(
            list(small.issued).count(state) for state in (warp_states.FMA, warp_states.OTHER, warp_states.AWAY)
        ),
        r"In cycles (\d+) to (\d+) warp 0 waits for global memory": (away.index(True) + 1, 16 - away[::-1].index(True)),
        r"what warps wait for in cycles (\d+) to (\d+) \|": (idle[0], idle[-1]),
        r"Long Scoreboard \(global memory\) \| (\d+) .*?block\) \| (\d+)": (*small.waits_while_idle.values(),),
        r"warps wait (\d+) cycles for global memory, (\d+) at the barrier, and (\d+) for": (*small.waits.values(),),
    }
    assert {pattern: said("07", pattern) for pattern in claims} == claims
    shares = [budget.shared_out(small.idle, waits).values() for waits in (small.waits_while_idle, small.waits)]
    assert [[round(share, 2) for share in each] for each in shares] == [[1.33, 2.67], [1.60, 2.08, 0.32]]
    assert "**11 + 1 + 1.33 + 2.67 = 16:**" in prose("07")


def test_shared_memory_waits_for_its_queue_2d_tile_for_the_core(bars):
    first, last = bars["shared_memory"], bars["block_tile_2d"]
    assert first.largest == "mio_throttle" and last.largest == "dispatch_stall"
    assert last.waits["mio_throttle"] < 0.05 * first.waits["mio_throttle"] and last.other < first.other / 4
    assert max(last.parts.values()) < last.total / 2  # no part is half of the bar


def test_the_queue_to_shared_memory_is_full_most_of_the_time(bars):
    bar = bars["shared_memory"]
    assert bar.waits["mio_throttle"] > max(value for name, value in bar.parts.items() if name != "mio_throttle")


def test_predicted_bars_match_recorded_but_where_the_text_says(bars, predictions):
    ours = {name: budget.predicted(prediction, name, (SIZE,) * 3) for name, prediction in predictions.items()}
    for name in NAMES:
        assert ours[name].total == pytest.approx(bars[name].total, rel=0.12)
        assert ours[name].waits["dispatch_stall"] == pytest.approx(bars[name].waits["dispatch_stall"], rel=0.25)
        assert ours[name].fma == pytest.approx(bars[name].fma) == budget.K_STEP
    mine, theirs = ours["shared_memory"].waits, bars["shared_memory"].waits
    for reason in ("mio_throttle", "short_scoreboard"):
        assert mine[reason] == pytest.approx(theirs[reason], rel=0.15)
    assert 2 * theirs["barrier"] < mine["barrier"] < 2.5 * theirs["barrier"]
    mine, theirs = ours["block_tile_1d"].waits, bars["block_tile_1d"].waits
    assert 1.7 * theirs["barrier"] < mine["barrier"] < 2 * theirs["barrier"]
    assert mine["mio_throttle"] == pytest.approx(3 / 5 * theirs["mio_throttle"], rel=0.1)


def test_eight_sums_wait_longer_for_global_memory():
    slow, _, eight, _ = (launch.parts["long_scoreboard"] for launch in n07.changes())
    reason = n07.predict_change().reasons[n07.EIGHT]
    assert f"{eight:.0f} µs for global memory on average, in place of {slow:.0f}" in reason and eight > 1.4 * slow


def test_page_has_the_parts_of_the_bar_and_the_costliest_lines():
    page = profile(get("block_tile_2d").launch(SIZE, SIZE, SIZE))
    assert page.prediction.kind == "shared"
    recorded_ms = 2e-6 * SIZE**3 / speeds(SIZE)["block_tile_2d"]
    assert 1 < recorded_ms / page.prediction.range_ms[1] < 1.02, "just outside the range"
    products, tile = page.hot[:2]
    assert "+=" in products.text and products.waits_for == "Dispatch Stall"
    assert tile.text.startswith("As[")
    bar = budget.predicted(page.prediction, "block_tile_2d", (SIZE,) * 3)
    for reason, value in bar.waits.items():
        assert page.shares[reason] == pytest.approx(value / bar.total)


def test_what_the_answer_says_of_each_part_of_the_bar_is_so():
    fmas, other, shared, far = map(n07.saved, n07.GROUPS)
    assert fmas == pytest.approx(0, abs=0.5) and 0 < 5 * far < other < shared


def test_only_many_threads_per_column_help_of_three_changes():
    slow, large, eight, mended = (change.total for change in n07.changes())
    assert mended < slow / 4 and large > 0.9 * slow and eight > slow
    assert n07.predict_change().answer == n07.SHARED_OUT


def test_changes_are_predicted_in_their_recorded_order():
    launches = ((n07.SLOW, (n07.BLOCK,)), (n07.SLOW, (n07.LARGE,)), (n07.EIGHT_SUMS, (n07.BLOCK,)),
                (n07.COLUMN_SUMS.solved, (n07.WIDE, n07.TALL)))  # fmt: skip
    for launch, change in zip(launches, n07.changes(), strict=True):
        assert n07.predicted(*launch).ms * 1e3 == pytest.approx(change.total, rel=0.2)


def test_the_kernel_that_was_recorded_as_mended_is_the_solution():
    plain = code_of(profiled.source("shared_out").replace("32", "TALL"))
    assert sorted(plain) == sorted(
        line.replace("[WIDE]", "[TALL]").replace("* WIDE", "* TALL") for line in code_of(n07.COLUMN_SUMS.solved)
        if not line.startswith("#define")
    )  # fmt: skip


def test_four_kernels_are_known_by_their_largest_part():
    assert {unknown.name: n07.cure(unknown) for unknown in n07.unknown_profiles()} == n07.FOUR_KERNELS.solved
    codes = sources("07", "code")
    asked = next(n for n, text in enumerate(codes) if "four_kernels.check(" in text)
    assert n07.UNKNOWN.count("__global__") == 4 and "n07.UNKNOWN" in codes[asked + 2]


def test_pinned_memory_and_streams_take_under_a_fifth_of_time():
    one_stream, several = (
        host_timeline.recorded(name) for name in (host_timeline.ONE_STREAM, host_timeline.SEVERAL_STREAMS)
    )
    assert one_stream.length > 5 * several.length
    copies = sum(span.end - span.start for kind in ("copy in", "copy out") for span in one_stream.of(kind))
    assert copies > 0.85 * one_stream.length
    first, *_, last = sorted(several.of("kernel"), key=lambda span: span.start)
    assert any(first.start < span.end and span.start < last.end for span in several.of("copy out"))


def test_compiler_groups_over_eight_loads_of_the_slow_kernel():
    program = cycles.traced(run_of(n07.SLOW, (n07.BLOCK,))).program
    opcodes = [instruction.opcode.split(".")[0] for instruction in program.instructions]
    runs = "".join("L" if opcode == "LDG" else "+" if opcode == "FADD" else "" for opcode in opcodes).split("+")
    assert max(map(len, runs)) > 8


def run_of(source, block):
    return n07.caught(source, block)


def test_the_slow_kernel_is_coalesced_and_keeps_no_unit_busy():
    predicted = n07.predicted(n07.SLOW, (n07.BLOCK,))
    assert predicted.kind == "latency" and predicted.busy < 0.2
    (load,) = (access for access in profile(run_of(n07.SLOW, (n07.BLOCK,))).accesses if access.op == "ld")
    assert load.cost == load.ideal


def test_mended_kernel_is_dram_bound_and_fetches_each_float_once():
    predicted = n07.predicted(n07.COLUMN_SUMS.solved, (n07.WIDE, n07.TALL))
    assert predicted.kind == "dram" and predicted.busy > 0.75
    trace = predicted.trace
    blocks = trace.grid[0]
    loaded = sum(access.cost for access in profile(run_of(n07.COLUMN_SUMS.solved, (n07.WIDE, n07.TALL))).accesses
                 if (access.space, access.op) == ("global", "ld")) * blocks  # fmt: skip
    assert loaded * 32 == n07.M * n07.N * 4


def test_the_command_at_the_end_profiles_the_mended_kernel(tmp_path, capsys):
    file = tmp_path / "sums.cu"
    file.write_text(n07.SLOW, encoding="utf-8")
    grid, block, rows, columns = said("07", r"sums.cu column_sums --grid (\d+) --block (\d+) --args (\d+) (\d+) ")
    assert (block, rows, columns) == (n07.BLOCK, n07.M, n07.N) and grid * block == columns
    given = ["--grid", str(grid), "--block", str(block), "--args", str(rows), str(columns)]
    assert main([str(file), "column_sums", *given, f"{rows}x{columns}", str(columns)]) == 0
    assert "Long Scoreboard" in capsys.readouterr().out


def test_shared_memory_executes_more_loads_than_fmas():
    first, last = (mix.mix(name).parts for name in (NAMES[0], NAMES[-1]))
    assert first["lsu"] > first["fma"] > 1 > 9 * last["lsu"]
    counted = mix.by_name(get("shared_memory").launch(256, 256, 512), ("FFMA", "LDS"))
    assert 1 <= counted["FFMA"] < 1.01 < counted["LDS"] < first["lsu"]


def test_lanes_of_the_line_named_first_are_eight_floats_apart():
    kernel = get("block_tile_2d")
    launch = hot_lines.shown(kernel)
    line = hot_lines.line_of(launch, "= Bs[k]")
    (request, *_) = asked(launch)[line]
    assert request.groups == {(0, 8 * lane): (lane, lane + 16) for lane in range(16)}
    waste, *_ = profile(kernel.launch(SIZE, SIZE, SIZE)).wastes
    assert waste.line == line.number and waste.access.cost == 2 * waste.access.ideal


def test_the_mark_of_the_kernel_is_over_long_before_the_kernel():
    timeline = host_timeline.recorded(host_timeline.ONE_STREAM)
    (kernel,) = timeline.of("kernel")
    (mark,) = (span for span in timeline.spans if (span.row, span.kind) == (host_timeline.MARKS, "kernel"))
    assert mark.end - mark.start < (kernel.end - kernel.start) / 5 and mark.end < kernel.end
    calls = [span for span in timeline.spans if (span.row, span.kind) == (host_timeline.HOST, "call")]
    marks = [span for span in timeline.spans if span.row == host_timeline.MARKS]
    assert all(mark.start < call.start < call.end < mark.end for mark, call in zip(marks, calls, strict=True))
