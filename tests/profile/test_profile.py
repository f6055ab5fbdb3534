"""One page about any launch: what it says is what the model and the simulator found, from the command line too."""

import json
import time
from functools import cache

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gpusim.engine import compiled
from gpusim.timing import trace
from helpers import course, profile, run
from helpers.measure import ALPHA, BETA
from helpers.profile import facts
from helpers.profile.__main__ import main
from helpers.profile.page import _three_digits

TRANSPOSE = """
__global__ void transpose(const float *from, float *to, int rows, int columns) {
    __shared__ float tile[32][PITCH];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    tile[y][x] = from[row * columns + column];
    __syncthreads();
    to[(blockIdx.x * 32 + y) * rows + blockIdx.y * 32 + x] = tile[x][y];
}
"""
LAUNCH = ("--grid", "32", "32", "--block", "32", "32", "--args", "1024x1024", "1048576", "1024", "1024")


@pytest.fixture
def files(tmp_path):
    paths = []
    for pitch in (32, 33):
        paths.append(tmp_path / f"pitch_{pitch}.cu")
        paths[-1].write_text(f"#define PITCH {pitch}\n{TRANSPOSE}")
    return [str(path) for path in paths]


def test_page_opens_with_the_limiter_and_calls_time_predicted():
    profiled = profile.profile(get("coalesced").launch(128, 128, 128))
    lines = profile.text(profiled).splitlines()
    assert lines[1] == profiled.prediction.limiter
    likely = f"{1e3 * profiled.prediction.ms:#.3g} µs ("
    assert likely in lines[2] and "predicted for NVIDIA H200" in lines[2]
    assert lines[3] == profiled.prediction.range.reason
    assert likely in profile.page(profiled)


def test_a_notebook_shows_the_same_page():
    launch = get("naive").launch(64, 64, 64)
    shown = course.profile(launch)._repr_mimebundle_()
    assert shown["text/plain"] == profile.text(profile.profile(launch))
    assert (
        shown["text/html"].count("<details>") == sum("% line " in line for line in shown["text/plain"].splitlines()) > 2
    )


def test_memory_requests_are_those_that_the_simulator_counts():
    launch = get("coalesced").launch(32, 32, 32)
    (loads, *_) = profile.profile(launch).accesses
    kernel = run.simulated(launch.source, launch.entry, launch.options)
    with gpusim.record() as recording:
        run.start(kernel, launch, *run.operands(*launch.shape), ALPHA, BETA)
    counters = recording.counters
    assert loads.cost == counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    assert loads.requests == counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]


def test_l1_requests_are_the_simulators_and_dram_reads_once(tmp_path, capsys):
    launch = get("coalesced").launch(64, 96, 128)
    kernel = run.simulated(launch.source, launch.entry, launch.options)
    with gpusim.record() as recording:
        run.start(kernel, launch, *run.operands(*launch.shape), ALPHA, BETA)
    moved = profile.profile(launch).traffic
    sectors = recording.counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    assert moved.asked_of_l1 == pytest.approx(32 * sectors)
    assert moved.asked_of_l1 - moved.found_in_l1 == pytest.approx(moved.from_l2) and moved.found_in_l1 > 0
    (file := tmp_path / "add.cu").write_text(
        "__global__ void add(const float *x, float *y) { y[blockIdx.x * 256 + threadIdx.x] += "
        "x[blockIdx.x * 256 + threadIdx.x]; }"
    )
    floats = 1 << 20
    call = ["add", "--grid", str(floats // 256), "--block", "256", "--args", str(floats), str(floats)]
    assert main([str(file), *call, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["traffic"]["from_dram"] == pytest.approx(2 * 4 * floats)
    assert printed["traffic"]["stored"] == pytest.approx(4 * floats)
    assert main([str(file), *call]) == 0
    assert (
        "  L2        8.39 MB sent to the SMs, 4.19 MB stored by them\n  DRAM      8.39 MB read;"
        in capsys.readouterr().out
    )


def test_units_are_sorted_and_the_limit_is_the_busiest_of_them():
    profiled = profile.profile(get("coalesced").launch(512, 512, 512))
    name, busy = next(iter(profiled.units.items()))
    assert (name, busy) == (profiled.prediction.kind, profiled.prediction.busy) and name != "latency"
    assert list(profiled.units.values()) == sorted(profiled.units.values(), reverse=True) and busy <= 1
    assert f"  shared memory and L1          {busy:6.1%} █" in profile.text(profiled)
    assert f'<td class="words">{busy:.1%}</td>' in profile.page(profiled)


def test_hot_lines_are_sorted_and_carry_their_machine_code():
    hot = profile.profile(get("shared_memory").launch(64, 64, 64)).hot
    assert [line.share for line in hot] == sorted((line.share for line in hot), reverse=True)
    assert sum(line.share for line in hot) <= 1.0001
    assert any("LDS" in text for line in hot for text in line.sass)


def test_command_says_a_padded_transposition_is_faster_and_why(files, capsys):
    conflicting, padded = files
    assert main([conflicting, "transpose", *LAUNCH, "--compare", padded]) == 0
    printed = capsys.readouterr().out
    assert "times as long" in printed and printed.startswith("pitch_33.cu takes")
    assert "Line 8: loading from shared memory takes 32 wavefronts per request, and 1 without bank conflicts" in printed
    assert main([conflicting, "transpose", *LAUNCH, "--compare", padded, "--json"]) == 0
    slow, fast = json.loads(capsys.readouterr().out)
    assert fast["ms"] < slow["ms"] and slow["wastes"] and not fast["wastes"]
    (bad,), (good,) = (
        [row for row in page["memory"] if (row["space"], row["op"]) == ("shared", "ld")] for page in (slow, fast)
    )
    assert (bad["cost"], bad["ideal"]) == (32 * good["cost"], good["ideal"])


def test_the_command_writes_a_page_that_fetches_nothing(files, tmp_path, capsys):
    target = tmp_path / "page.html"
    assert main([files[0], "transpose", *LAUNCH, "--html", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert "<b>The limit is" in text
    assert "http" not in text


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("1024", "1024"), "has 4 parameters"),
        (("1024x", "1", "1", "1"), "1048576 or 1024x1024, which is filled with random numbers."),
        (("1024", "-5", "1", "1"), "'-5' is no value for float * to"),
        (("1024", "99999999999999", "1", "1"), "do not fit into this machine's memory"),
        (("1024", "1", "99999999999", "1"), "'99999999999' is no value for int rows"),
        (("1024", "1", "1", "1", "--gpu", "GTX 1"), "GTX 1"),
        (("1024", "1", "1", "1", "--gpu", "RTX A6000"), "Measured so far: NVIDIA H100 80GB HBM3, NVIDIA H200"),
    ],
)
def test_wrong_arguments_are_answered_with_a_sentence(files, capsys, args, sentence):
    assert main([files[0], "transpose", "--grid", "1", "--block", "32", "--args", *args]) == 1
    assert sentence in capsys.readouterr().err


def test_page_that_cannot_be_written_gets_a_sentence(files, tmp_path, capsys):
    assert main([files[0], "transpose", *LAUNCH, "--html", str(tmp_path / "nowhere" / "page.html")]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_requests_sharing_words_never_cost_less_than_the_best():
    source = """
    __global__ void sums(float *to) {
        __shared__ float4 all[8];
        if (threadIdx.x < 8) all[threadIdx.x] = make_float4(1, 2, 3, 4);
        __syncthreads();
        float sum = 0;
        for (int i = 0; i < 8; ++i) sum += all[i].x + all[i].y + all[i].z + all[i].w;
        to[threadIdx.x] = sum;
    }"""
    with gpusim.capture() as caught:
        run.call(run.simulated(source, "sums"), (1,), (32,), [np.zeros(32, np.float32)])
    (loads,) = (
        access for access in profile.profile(caught[0]).accesses if (access.space, access.op) == ("shared", "ld")
    )
    assert loads.cost == loads.ideal < 4 * loads.requests  # LDS.128: four wavefronts each if no lanes shared words


def test_words_across_two_sectors_do_not_lie_apart():
    source = "__global__ void shift(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x + 4]; }"
    with gpusim.capture() as caught:
        run.call(run.simulated(source, "shift"), (1,), (8,), [np.zeros(16, np.float32), np.zeros(8, np.float32)])
    (waste,) = profile.profile(caught[0]).wastes
    assert str(waste) == (
        "Line 1: loading from global memory takes 2 sectors per request, and 1 at best: the words that a warp asks for "
        "lie in more sectors than they would fill."
    )


@cache
def few_blocks() -> profile.Profile:
    return profile.profile(get("block_tile_2d").launch(512, 512, 2048))


def test_sentence_and_bars_give_a_stall_as_part_of_the_same_time():
    profiled = few_blocks()
    assert sum(profiled.shares.values()) == pytest.approx(1)
    assert profiled.shares["empty"] > max(profiled.shares[name] for name in profiled.cycles.waits)
    cause = "the grid has only 16 blocks for 132 SMs"
    assert profiled.prediction.limiter.endswith(
        f"In {profiled.shares['empty']:.0%} of the time a scheduler has no warp, above all because {cause}."
    )
    full = profile.profile(get("shared_memory").launch(512, 512, 512))
    most = max(full.cycles.waits, key=full.shares.__getitem__)
    assert f" {full.shares[most]:.0%} of the time" in full.prediction.limiter or full.prediction.kind != "latency"
    assert sum(line.share for line in profiled.hot) <= 1 - profiled.shares["empty"]


def test_where_no_warp_is_there_the_page_says_why():
    row = next(line for line in profile.text(few_blocks()).splitlines() if "no warp is there" in line)
    assert "the launch begins or ends (" in row and "the grid has only 16 blocks for 132 SMs (" in row


def test_later_waves_do_not_wait_for_the_first_waves_cause(tmp_path):
    source = """
    __global__ void stencil(const float *from, float *to, int rows, int columns) {
        const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
        if (row < 1 || column < 1 || row >= rows - 1 || column >= columns - 1) return;
        const float *at = from + row * columns + column;
        to[row * columns + column] = 0.2f * (at[0] + at[-1] + at[1] + at[-columns] + at[columns]);
    }"""
    shares = {}
    for rows in (512, 4096):
        arrays = [np.ones(rows * 2048, np.float32) for _ in range(2)]
        with gpusim.capture() as caught:
            run.call(run.simulated(source, "stencil"), (64, rows // 8), (32, 8), [*arrays, rows, 2048])
        predicted = profile.profile(caught[0]).prediction
        shares[rows] = predicted.time["no_instruction"] / (1 - predicted.time["empty"])
        assert sum(predicted.time.values()) == pytest.approx(1)
    assert shares[4096] < shares[512] / 3


FILL = "__global__ void fill(float *to) { to[blockIdx.x * 64 + threadIdx.x] = 1; }"
FILLS = ("fill", "--grid", "8", "--block", "64", "--args")


def test_store_beyond_the_end_in_the_last_block_is_named(tmp_path, capsys):
    (file := tmp_path / "fill.cu").write_text(FILL)
    assert main([str(file), *FILLS, "511"]) == 1
    assert "thread (63, 0, 0) of block (7, 0, 0) wrote 4 bytes outside the arrays: index 511" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("grid", "most", "checked", "sentence"),
    [
        ("8", None, [0, 4, 7], "in the first block, one in the middle and the last, of 8;"),
        ("2", None, [0, 1], "in every block;"),
        ("8", 1, [0], "in the first block alone, of 8;"),
    ],
)
def test_the_page_says_in_which_blocks_hazards_were_looked_for(
    grid, most, checked, sentence, tmp_path, capsys, monkeypatch
):
    if most is not None:
        monkeypatch.setattr(facts, "MOST_CHECKED", most)
    (file := tmp_path / "fill.cu").write_text(FILL)
    call = [str(file), "fill", "--grid", grid, "--block", "64", "--args", "512", "--html", str(tmp_path / "page.html")]
    assert main(call) == 0
    expected = f"Searched for hazards {sentence} not for races between blocks or in global memory."
    assert expected in capsys.readouterr().out.splitlines() and expected in (tmp_path / "page.html").read_text("utf-8")
    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checked_blocks"] == checked


def test_waiting_block_is_not_endless_with_checks():
    source = """__global__ void last(volatile int *ready) {
        if (blockIdx.x == 999) while (!*ready) { }
        if (blockIdx.x == 0) *ready = 1;
    }"""
    with gpusim.capture() as caught:
        run.call(run.simulated(source, "last"), (1000,), (32,), [np.zeros(1, np.int32)])
    assert profile.profile(caught[0]).checked == (0,)


def test_a_race_in_the_first_block_stands_on_the_page(tmp_path, capsys):
    (file := tmp_path / "race.cu").write_text(f"#define PITCH 33\n{TRANSPOSE.replace('__syncthreads();', '')}")
    assert main([str(file), "transpose", *LAUNCH, "--html", str(tmp_path / "page.html")]) == 0
    assert "Hazard: transpose: race in shared memory, lines 6 and 8" in capsys.readouterr().out
    assert '<p class="hazard">' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_compiler_names_the_file(files, tmp_path, capsys):
    (bad := tmp_path / "bad.cu").write_text("__global__ void transpose(float *to) { to[0] = ; }")
    assert main([files[0], "transpose", *LAUNCH, "--compare", str(bad)]) == 1
    assert capsys.readouterr().err.startswith("bad.cu:1: error: expected an expression")


def test_a_comparison_is_written_as_two_pages(files, tmp_path, capsys):
    target = tmp_path / "page.html"
    assert main([files[0], "transpose", *LAUNCH, "--compare", files[1], "--html", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.count("<b>The limit is") == 2 and text.count("Line 8: loading from shared memory takes") == 1


def test_struct_or_missing_file_gets_a_sentence(tmp_path, capsys):
    file = tmp_path / "fill.cu"
    size = "struct Size { int rows; };"
    file.write_text(f"{size} __global__ void fill(float *to, Size size) {{ to[threadIdx.x] = size.rows; }}")
    call = ["fill", "--grid", "1", "--block", "32", "--args", "32", "1"]
    assert main([str(file), *call]) == 1
    assert "Size size is a struct, which a command line cannot fill" in capsys.readouterr().err
    assert main([str(tmp_path / "no.cu"), *call]) == 1
    assert "no.cu: No such file or directory." in capsys.readouterr().err


def test_a_file_that_is_not_utf_8_is_named(tmp_path, capsys):
    (file := tmp_path / "latin.cu").write_bytes("// größer\n".encode("latin-1"))
    assert main([str(file), "fill", "--grid", "1", "--block", "32"]) == 1
    assert capsys.readouterr().err == "latin.cu is not UTF-8: byte 5 is 0xf6. Save it as UTF-8.\n"


def test_a_gpu_may_be_named_in_short(files, capsys):
    assert main([files[0], "transpose", *LAUNCH, "--gpu", "h200"]) == 0
    assert "predicted for NVIDIA H200" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ms", "text"), [(0.0078, "7.80"), (0.0123, "12.3"), (0.532, "532"), (12.3, "12.3"), (1234, "1,234")]
)
def test_times_have_three_digits(ms, text):
    assert text == _three_digits(ms if ms >= 1 else 1e3 * ms)


def test_what_is_stored_is_counted_in_a_warm_cache_too():
    launch = get("coalesced").launch(256, 256, 256)
    cold, warm = (profile.profile(launch, cold=is_cold) for is_cold in (True, False))
    assert warm.traffic.stored == cold.traffic.stored == 4 * 256 * 256
    assert warm.traffic.from_dram == 0
    assert warm.roof is None


RANDOM = """
__global__ void rounds(unsigned *to) {
    unsigned s = threadIdx.x, n = 0;
    for (; s; ++n) s = NEXT;
    to[blockIdx.x * blockDim.x + threadIdx.x] = n;
}
"""


def test_endless_loop_with_changing_state_is_named_in_seconds(tmp_path, capsys):
    if compiled.library() is None:
        pytest.skip("there is no compiled engine here")
    (file := tmp_path / "rounds.cu").write_text(RANDOM.replace("NEXT", "(s * 1664525u + 1013904223u) | 8u"))
    started = time.process_time()
    assert main([str(file), "rounds", "--grid", "8", "--block", "64", "--args", "512"]) == 1
    assert time.process_time() - started < 25  # 2.5 s on a machine that nobody else uses
    printed = capsys.readouterr().err
    assert "rounds: thread (1, 0, 0) of block (0, 0, 0) is still running after 67,108,864 instructions." in printed
    assert "line 4: for (; s; ++n) s = (s * 1664525u + 1013904223u) | 8u;" in printed


def test_long_finite_loop_is_predicted_and_keeps_its_arrays(monkeypatch):
    monkeypatch.setattr(trace, "DOUBTFUL", 1000)
    asked = []
    never_ends = compiled.never_ends
    monkeypatch.setattr(compiled, "never_ends", lambda *args: asked.append(args) or never_ends(*args))
    to, next_of_4096 = np.zeros(512, np.uint32), "(s * 5u + 1u) & 4095u"
    with gpusim.capture() as caught:
        run.call(run.simulated(RANDOM.replace("NEXT", next_of_4096), "rounds"), (8,), (64,), [to])
    assert profile.profile(caught[0]).prediction.trace.warp_instructions > 2 * 3000
    assert asked and not to.any()
