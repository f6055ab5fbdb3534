"""The sanitizer: every planted bug found with its line, no correct kernel blamed, and what a report says."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import gemm_kernels
import gpusim
from gemm_kernels.ladder import LADDER, SPECIALISTS, UPPER
from gemm_kernels.launch import OPTIONS
from gpusim import errors
from gpusim.checks import checks, shared_checks
from gpusim.checks.shared_checks import Patterns, SharedChecks
from gpusim.checks.shared_epoch import Epoch
from gpusim.engine import compiled
from gpusim.symbols.memory_order import Strength
from gpusim.symbols.shared_arrays import SharedNames
from helpers import run
from tests.gpusim import kernel_launches, sass_goldens
from tests.gpusim.kernel_launches import SHARING
from tests.gpusim.planted import bugs, verdict_table

F32, I32 = np.float32, np.int32


def ids(planted: bugs.Planted) -> str:
    return planted.kernel


def kernel(parameters: str, body: str, name: str = "kernel") -> gpusim.Kernel:
    source = f'extern "C" __global__ void {name}({parameters}) {{\n{body}\n}}\n'
    return gpusim.RawModule(code=source).get_function(name)


# ---- planted bugs and correct kernels


@pytest.mark.parametrize("planted", bugs.PLANTED, ids=ids)
def test_a_planted_bug_is_found_at_its_lines_and_nothing_else_is(planted):
    error, recording = verdict_table.simulate(planted, "ptx")
    kinds, lines = verdict_table.kinds_and_lines(error, recording)
    assert kinds == {planted.kind}
    assert planted.lines and planted.lines <= lines
    text = bugs.source(planted.file).splitlines()
    for line in lines - planted.lines:  # the body of an inlined function, called from the marked line
        assert "asm volatile" in text[line - 1] or "asm volatile" in text[line - 2]
    message = recording.checks.findings[0].message if error is None else str(error)
    assert message.startswith(f"{planted.kernel}: ")


@pytest.mark.parametrize("planted", bugs.PLANTED, ids=ids)
def test_a_planted_bug_is_found_in_machine_code_too(planted):
    kinds, lines = verdict_table.kinds_and_lines(*verdict_table.simulate(planted, "sass"))
    assert planted.kind in kinds and lines


def test_over_twenty_tensor_core_bugs_of_seven_kinds_are_planted():
    planted = [bug for bug in bugs.PLANTED if bug.file == bugs.TENSOR]
    assert len({bug.kernel for bug in planted}) == len(planted) > 20
    assert len({bug.kind for bug in planted}) == 7
    text = bugs.source(bugs.TENSOR)
    for used in ("ldmatrix", "stmatrix", "mma.sync", "cp.async"):
        assert used in text


@pytest.mark.parametrize("planted", bugs.CORRECT, ids=ids)
def test_a_correct_kernel_has_no_finding(planted, level):
    error, recording = verdict_table.simulate(planted, level)
    assert error is None
    assert recording.checks.findings == ()
    assert recording.checks.global_accesses > 0


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", [kernel.name for kernel in LADDER + SPECIALISTS + UPPER], scope="module")
def test_ladder_has_no_false_positive_in_the_compiled_engine(monkeypatch, name, level):
    """At a shape whose rows are read as vectors, and at an odd one; with C empty."""

    def refuse(*_):
        raise AssertionError("executed by the engine in NumPy")

    if compiled.library() is not None:
        monkeypatch.setattr("gpusim.engine.run._run_wave", refuse)
    step = gemm_kernels.get(name)
    function = run.simulated(step.source, step.entry)
    for (M, N, K), with_checks in (((64, 64, 64), False), ((64, 64, 64), True), ((35, 41, 37), True)):
        rng = np.random.default_rng(M)
        A, B = rng.uniform(-1, 1, (M, K)).astype(F32), rng.uniform(-1, 1, (K, N)).astype(F32)
        C = gpusim.empty((M, N), F32)
        with gpusim.record(level=level, checks="report" if with_checks else "off") as recording:
            run.start(function, step.launch(M, N, K), A, B, C)
        assert np.allclose(C, A.astype(np.float64) @ B, atol=1e-4)
        if with_checks:
            assert C.unwritten is None
            assert recording.checks.findings == ()
            floats = 1 if N % 4 else 4  # of an access
            assert floats * recording.checks.global_accesses >= M * N


def workspace(kernel: gemm_kernels.Kernel) -> tuple[np.ndarray, ...]:
    """The last argument of kernels whose blocks leave each other parts of C."""
    return () if kernel.workspace_bytes is None else (np.zeros(kernel.workspace_bytes // 4, F32),)


def small(name: str) -> gemm_kernels.Kernel:
    """A kernel whose blocks share tiles, with few workers."""
    return gemm_kernels.get(name, **SHARING[name][0])


def share(step: gemm_kernels.Kernel, source: str, shape: tuple[int, int, int], level: str = "ptx") -> checks.Report:
    """What the sanitizer says of a kernel whose blocks share tiles, made of another source."""
    M, N, K = shape
    rng = np.random.default_rng(2)
    A, B = rng.uniform(-1, 1, (M, K)).astype(F32), rng.uniform(-1, 1, (K, N)).astype(F32)
    function = gpusim.RawModule(code=source, options=OPTIONS, name_expressions=[step.entry]).get_function(step.entry)
    with gpusim.record(level=level, checks="report") as recording:
        output = gpusim.empty((M, N), F32)
        arguments = (I32(M), I32(N), I32(K), F32(1), A, B, F32(0), output, *workspace(step))
        function(step.grid(M, N), step.block, arguments, shared_mem=step.shared_bytes)
    return recording.checks


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", SHARING)
def test_blocks_that_release_parts_to_the_last_have_no_finding(name, level):
    for shape in SHARING[name][1]:
        assert share(small(name), gemm_kernels.get(name).source, shape, level).findings == (), shape


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", SHARING)
def test_without_the_fence_before_the_counter_the_parts_race(name, level):
    shape = SHARING[name][1][0]
    step = small(name).for_rows(shape[1])
    fence = "__threadfence();   // my sums are there for all before I count as arrived"
    assert step.source.count(fence) == 1
    findings = share(step, step.source.replace(fence, ""), shape, level).findings
    assert {finding.kind for finding in findings} == {errors.GLOBAL_RACE}
    assert {finding.array for finding in findings} == {"workspace"}  # by its name in the source
    assert "workspace[" in findings[0].message and "_Z" not in findings[0].message


@pytest.mark.table(keep=3)
@pytest.mark.parametrize(
    ("name", "barrier"),
    [
        ("stream_k", "__syncthreads();   // every thread has read the sums before the next tiles are copied over them"),
        ("stream_k", "__syncthreads();   // every thread has read the last tiles before any thread stores"),
        ("vector_matrix", "__syncthreads();   // every thread's sums are there"),
        ("matrix_vector", "__syncthreads();   // every warp's sum is there"),
        ("reduce_scatter", "__syncthreads();   // the sums are whole before any thread reads what others stored"),
        ("reduce_scatter", "__syncthreads();   // every thread has read the sums before the next tiles"),
        ("reduce_scatter", "__syncthreads();   // every thread has read the last tiles before any thread stores"),
        ("reduce_scatter", "__syncthreads();   // all teams' sums are there"),
    ],
)  # fmt: skip
def test_missing_barriers_race_in_shared_memory(name, barrier):
    """At a shape with odd rows, for which the least code is compiled."""
    M, N, K = SHARING[name][1][0]
    N |= 1
    step = small(name).for_rows(N)
    assert step.source.count(barrier) == 1
    wrong = step.source.replace(barrier, barrier.removeprefix("__syncthreads();"))
    kinds = {finding.kind for finding in share(step, wrong, (M, N, K)).findings}
    assert errors.SHARED_RACE in kinds or errors.ASYNC_COPY in kinds


@pytest.mark.table(keep=1)
@pytest.mark.parametrize(
    ("barrier", "sentence"),
    [
        ("sync_cluster();   // all blocks' sums are there", "race in shared memory between blocks of a cluster"),
        ("sync_cluster();   // no block ends before all have read its sums", "which may have ended"),
        (
            "__syncthreads();   // the sums are whole before any thread reads what others stored",
            "race in shared memory",
        ),
    ],
)
def test_without_one_of_its_barriers_a_cluster_races(barrier, sentence):
    M, N, K = 16, 63, 300
    step = gemm_kernels.get("clustered", BM=16, WM=16, BN=64, WN=64, CLUSTER=4).for_rows(N)
    assert step.source.count(barrier) == 1
    assert sentence in share(step, step.source.replace(barrier, ""), (M, N, K)).findings[0].message


def copied_by_warps_of_their_own() -> gemm_kernels.Kernel:
    return gemm_kernels.get("producer", BM=16, BN=32, WM=16, WN=32, TM=4, TN=4, SLICES=2, PRODUCERS=1, WORKERS=2)


def test_copying_and_multiplying_warps_have_no_finding(level):
    step = copied_by_warps_of_their_own()
    for shape in ((20, 40, 100), (35, 41, 37)):
        assert share(step, step.source, shape, level).findings == (), shape


@pytest.mark.table(keep=1)
@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("wait(at + VACANT, odd ^ 1);", "", "wait for ever"),
        ("arrive_with_copies(at + FULL);", "arrive(at + FULL);", "while an asynchronous copy into it is under way"),
        ("sync_consumers<THREADS>();   // the sums are whole", "__syncwarp();   //", "race in shared memory"),
    ],
    ids=["copies into what is still read", "tells too early", "sums of other slices"],
)
def test_copying_and_multiplying_warps_must_wait_for_each_other(right, wrong, sentence):
    step = copied_by_warps_of_their_own()
    assert step.source.count(right) == 1
    try:
        messages = [
            finding.message for finding in share(step, step.source.replace(right, wrong), (20, 40, 100)).findings
        ]
    except errors.BarrierError as error:
        messages = [str(error)]
    assert sentence in messages[0]


# ---- loads whose value nobody uses

AHEAD = """extern "C" __global__ void kernel(int rounds, const int *length, const int *x, int *y) {
    __shared__ int s[4][64];
    int sum = 0;
    for (int i = 0; i < rounds; ++i) s[i][threadIdx.x] = x[64 * i + threadIdx.x];
    __syncthreads();
    const unsigned start = unsigned(__cvta_generic_to_shared(&s[0][63 - threadIdx.x]));
    int next, mine = length[blockIdx.x];
    asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(next) : "r"(start));
    for (int i = 1; i <= mine; ++i) {
        const int now = next;
        asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(next) : "r"(start + 256 * i));
        __syncthreads();
        sum = sum * 3 + now;
    }
    y[64 * blockIdx.x + threadIdx.x] = sum LAST;
}"""


def loads_ahead(rounds: int, length: list[int], last: str = "", level: str = "ptx") -> checks.Report:
    """A loop that loads one time more than it needs; the blocks' loops have these lengths."""
    function = gpusim.RawModule(code=AHEAD.replace("LAST", last)).get_function("kernel")
    x, y = np.arange(256, dtype=I32), np.zeros(64 * len(length), I32)
    with gpusim.record(level=level, checks="report") as recording:
        function(len(length), 64, (I32(rounds), np.array(length, I32), x, y))
    return recording.checks


def test_unwritten_value_is_wrong_only_if_it_is_used(level):
    assert loads_ahead(2, [2], level=level).findings == ()
    assert loads_ahead(2, [2, 1, 2, 0], level=level).findings == ()
    (finding,) = loads_ahead(2, [2], "+ next", level).findings
    assert finding.kind == errors.UNWRITTEN_SHARED
    assert finding.line == 11 and finding.count == 64


def test_of_blocks_in_step_the_one_that_uses_the_value_is_found(level):
    """The others load the same at the same time and go no further."""
    (finding,) = loads_ahead(2, [2, 2, 3, 1], level=level).findings
    assert (finding.kind, finding.lines) == (errors.UNWRITTEN_SHARED, (11,))


def test_no_ordinary_kernel_of_the_tests_has_a_finding():
    blamed, launches = {}, 0
    for launch in kernel_launches.ordinary():
        function = sass_goldens.kernel_of(launch)
        with gpusim.sanitize("report") as reports:
            function(launch.grid, launch.block, tuple(launch.make_arguments()), shared_mem=launch.shared_bytes)
        launches += 1
        if reports[0].findings:
            blamed[launch.name] = {finding.kind for finding in reports[0].findings}
    assert launches > 100
    assert blamed == {}


# ---- beside compute-sanitizer


def test_every_verdict_was_recorded_for_the_kernel_as_it_is_now():
    recorded = verdict_table.recorded()
    stale = [p.kernel for p in (*bugs.PLANTED, *bugs.CORRECT) if recorded.get(p.kernel, {}).get("key") != p.key]
    assert not stale, "run python -m tests.gpusim.planted.record_verdicts on a GPU"
    assert all(set(row["verdicts"]) == set(verdict_table.TOOLS) for row in recorded.values())


def test_compute_sanitizers_findings_are_planted_on_marked_lines():
    for planted in (*bugs.PLANTED, *bugs.CORRECT):
        for tool, verdict in verdict_table.recorded()[planted.kernel]["verdicts"].items():
            if verdict_table.tool_verdict(verdict) == "found":
                lines = {planted.span.start + line for line in verdict["lines"]}
                if lines:  # else it names the body of an inlined function alone
                    assert lines & planted.lines, (planted.kernel, tool)


def test_simulator_finds_all_planted_bugs_the_tools_two_thirds():
    assert verdict_table.table(bugs.PLANTED)[-1] == (
        "found of 98: simulator 98, memcheck 30, racecheck 30, initcheck 5, synccheck 2, any tool 67"
    )


# ---- a finding, its message and its report


def test_race_names_lines_threads_element_and_missing_barrier():
    function = kernel(
        "const float *x, float *y",
        "__shared__ float tile[2][40];\n"
        "tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 40 + threadIdx.x];\n"
        "y[threadIdx.y * 40 + threadIdx.x] = tile[1 - threadIdx.y][threadIdx.x];",
    )
    x, y = np.arange(80, dtype=F32), np.zeros(80, F32)
    with pytest.raises(errors.RaceError) as caught:
        function((3,), (40, 2), (x, y))
    assert str(caught.value) == (
        "kernel: race in shared memory, lines 3 and 4, in block (0, 0, 0).\n"
        "  line 3: tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 40 + threadIdx.x];\n"
        "    thread (0, 0, 0) writes tile[0][0]\n"
        "  line 4: y[threadIdx.y * 40 + threadIdx.x] = tile[1 - threadIdx.y][threadIdx.x];\n"
        "    thread (0, 1, 0) reads tile[0][0]\n"
        "No barrier of the block lies between them, so that on a GPU either may come first. "
        "Put __syncthreads() between line 3 and line 4."
    )
    (finding,) = caught.value.report.findings
    assert (finding.kind, finding.lines, finding.array, finding.index) == (bugs.SHARED_RACE, (3, 4), "tile", (0, 0))
    assert (finding.block, finding.thread, finding.other_thread) == ((0, 0, 0), (0, 1, 0), (0, 0, 0))
    assert finding.count == 3 * 80
    assert caught.value.line == 3 and caught.value.lines == (3, 4)
    # The lanes ran in step here: the results are there, and right by chance.
    assert y.tolist() == np.r_[x[40:], x[:40]].tolist()


def test_race_in_the_only_warp_of_a_block_asks_for_syncwarp():
    function = kernel(
        "int *y", "__shared__ int s[64];\ns[threadIdx.x] = threadIdx.x;\ny[threadIdx.x] = s[threadIdx.x ^ 31];"
    )
    with pytest.raises(errors.RaceError) as caught:
        function(1, 32, (np.zeros(32, I32),))
    assert str(caught.value).endswith(
        "(the lanes of a warp need not run in step). Put __syncwarp() between line 3 and line 4."
    )
    with pytest.raises(errors.RaceError) as caught:
        function(1, 64, (np.zeros(64, I32),))
    assert str(caught.value).endswith(
        "Put a barrier between line 3 and line 4. __syncwarp() is enough if it is always lanes of one warp that "
        "meet here, else __syncthreads()."
    )


ONLY_NAMED_LANES_MEET = {
    "without those that store": ("if (t < 16) { __syncwarp(0xffffu); y[t] = s[t + 16]; }", True),
    "in two halves": (
        "if (t < 16) { __syncwarp(0xffffu); y[t] = s[t + 16]; } else { __syncwarp(0xffff0000u); y[t] = t; }",
        True,
    ),
    "all that store": ("if (t < 16) { __syncwarp(0xffffu); y[t] = s[t ^ 1]; }", False),
    "one after the other": (
        "if (t < 24) __syncwarp(0xffffffu);\nif (t > 15) { __syncwarp(0xffff0000u); y[t] = s[t > 23 ? 8 : t]; }",
        False,
    ),
}


@pytest.mark.parametrize("memory", ["shared", "global"])
@pytest.mark.parametrize(("code", "races"), ONLY_NAMED_LANES_MEET.values(), ids=ONLY_NAMED_LANES_MEET)
def test_a_barrier_of_a_warp_orders_the_lanes_that_come(code, races, memory):
    array = "__shared__ int s[32]" if memory == "shared" else "int *s = y + 32"
    function = kernel("int *y", f"{array};\nconst int t = threadIdx.x;\ns[t] = t;\n{code}\n__syncwarp();\ny[t] += t;")
    if not races:
        function(1, 32, (np.zeros(64, I32),))
        return
    with pytest.raises(errors.RaceError, match=f"race in {memory} memory"):
        function(1, 32, (np.zeros(64, I32),))


def test_the_sanitizer_takes_a_limit_of_instructions():
    function = kernel("int *y", "for (int i = 0; i < y[1]; ++i) y[0] += i & y[2];")
    arguments = (np.array([0, 2_000, 1], I32),)
    with gpusim.sanitize(max_instructions=2_000):
        with pytest.raises(errors.StepLimitExceeded, match="2,000"):
            function(1, 1, arguments)
        with gpusim.record(), pytest.raises(errors.StepLimitExceeded, match="2,000"):
            function(1, 1, arguments)
        with gpusim.record(max_instructions=20_000):
            function(1, 1, arguments)
    function(1, 1, arguments)


def test_a_race_between_blocks_names_both_blocks():
    function = kernel("int *sum", "if (threadIdx.x == 0) sum[0] += blockIdx.x;")
    with pytest.raises(errors.RaceError) as caught:
        function((4, 2), 32, (np.zeros(1, I32),))
    assert str(caught.value) == (
        "kernel: race in global memory, line 2, between blocks.\n"
        "  line 2: if (threadIdx.x == 0) sum[0] += blockIdx.x;\n"
        "    thread (0, 0, 0) of block (3, 1, 0) reads sum[0]\n"
        "    thread (0, 0, 0) of block (0, 0, 0) writes sum[0]\n"
        "Blocks run in any order and do not wait for each other. If several threads add to one element, use atomicAdd; "
        "else let each element be written by one thread, from values that no other thread changes in this launch."
    )


def test_reading_an_empty_matrix_names_row_and_column():
    function = kernel("int N, const float *A, float *C", "int i = blockIdx.x * N + threadIdx.x;\nC[i] += A[i];")
    A, C = np.ones((3, 5), F32), gpusim.empty((3, 5), F32)
    C[0] = 0
    C[1, :4] = 0
    with pytest.raises(errors.UninitializedRead) as caught:
        function(3, 5, (I32(5), A, C))
    assert str(caught.value) == (
        "kernel: thread (4, 0, 0) of block (1, 0, 0) reads C[1, 4], which was never written.\n"
        "  line 3: C[i] += A[i];\n"
        "C was made by empty(), which leaves its elements undefined. Make it with zeros() or full(), or write every "
        "element before it is read."
    )
    assert caught.value.report.findings[0].count == 6
    assert C[0].tolist() == [1] * 5 and np.isnan(C[2]).all()


def test_reading_unwritten_shared_memory_names_the_element():
    function = kernel(
        "int *y",
        "__shared__ int s[64];\nif (threadIdx.x < 60) s[threadIdx.x] = 1;\n__syncthreads();\n"
        "y[threadIdx.x] = s[63 - threadIdx.x];",
    )
    with pytest.raises(errors.UninitializedRead) as caught:
        function(2, 64, (np.zeros(64, I32),))
    assert str(caught.value).startswith(
        "kernel: thread (0, 0, 0) of block (0, 0, 0) reads s[63], which no thread has written.\n"
        "  line 5: y[threadIdx.x] = s[63 - threadIdx.x];\nShared memory holds anything at first."
    )
    assert caught.value.report.findings[0].count == 8


def test_each_launch_counts_findings_like_the_first():
    function = kernel(
        "int *y",
        "__shared__ int s[64];\ns[threadIdx.x] = 1;\ny[threadIdx.x] = s[63 - threadIdx.x];\n__syncthreads();\n"
        "((volatile char *)s)[threadIdx.x] = 2;",
    )
    counts = []
    for _ in range(3):
        with gpusim.sanitize("report") as reports:
            function(1, 64, (np.zeros(64, I32),))
        counts += [finding.count for finding in reports[0].findings]
    assert counts == [64, 64, 64]


def test_a_report_says_what_was_looked_at():
    function = kernel(
        "const float *x, float *y",
        "__shared__ float s[64];\ns[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\n"
        "y[threadIdx.x] = s[63 - threadIdx.x];",
    )
    with gpusim.record() as recording:
        function(1024, 64, (np.ones(64, F32), np.zeros(64, F32)))
    assert str(recording.checks) == (
        "kernel: 0 hazards in 131,072 shared accesses, 131,072 global accesses and 1,024 barriers."
    )
    assert str(recording.checks + recording.checks).startswith("kernel: 0 hazards in 262,144 shared accesses")


def test_masked_threads_and_copies_are_counted_one_by_one():
    planted = next(p for p in bugs.CORRECT if p.kernel == "three_stages")
    report = verdict_table.simulate(planted, "ptx")[1].checks
    assert report.copies == 5 * 64
    assert report.shared_accesses == 5 * 64 + 5 * 64 * 64
    assert report.global_accesses == 5 * 64 + 64
    assert "5 barriers and 320 asynchronous copies." in str(report)


def test_many_findings_are_shortened_in_the_message_only():
    body = "__shared__ int s[8][64];\n" + "\n".join(
        f"s[{i}][threadIdx.x] = i + {i};\ny[threadIdx.x] += s[{i}][63 - threadIdx.x];" for i in range(5)
    )
    function = kernel("int i, int *y", body)
    with pytest.raises(errors.RaceError, match=r"… and 2 more: see error.report.findings\.$") as caught:
        function(1, 64, (I32(1), np.zeros(64, I32)))
    assert [finding.lines for finding in caught.value.report.findings] == [(3 + 2 * i, 4 + 2 * i) for i in range(5)]


# ---- how it is switched


RACY = ("int *y", "__shared__ int s[32];\ns[0] = threadIdx.x;\ny[0] = s[0];")


def test_reports_can_be_collected_instead_of_raised():
    function = kernel(*RACY)
    y = np.zeros(1, I32)
    with gpusim.sanitize("report") as reports:
        function(1, 32, (y,))
        function(1, 32, (y,))
    assert [len(report.findings) > 0 for report in reports] == [True, True]
    assert reports[0].findings == reports[1].findings  # also when its patterns are known already


def test_the_sanitizer_can_be_switched_off():
    function = kernel(*RACY)
    y = np.zeros(1, I32)
    with gpusim.sanitize("off") as reports:
        function(1, 32, (y,))
    assert reports == []
    with gpusim.record(checks=False) as recording:
        function(1, 32, (y,))
    with pytest.raises(gpusim.SimulatorError, match="The sanitizer was off"):
        _ = recording.checks
    with pytest.raises(gpusim.SimulatorError, match=r"checks='loud': choose True \('raise'\), 'report' or False"):
        gpusim.sanitize("loud").__enter__()


def test_checks_are_on_by_default_and_keep_the_whole_recording():
    function = kernel(*RACY)
    with gpusim.record() as recording, pytest.raises(errors.RaceError):
        function(1, 32, (np.zeros(1, I32),))
    assert recording.total("requests", "global", "st") == 1
    assert recording.checks.findings


def test_hazards_before_a_stopped_kernel_are_notes_of_its_error():
    function = kernel(
        "int n, int *y",
        "__shared__ int s[64];\ns[threadIdx.x] = 1;\ny[threadIdx.x] = s[63 - threadIdx.x];\n__syncthreads();\n"
        "y[threadIdx.x + n] = 0;",
    )
    with pytest.raises(errors.OutOfBounds) as caught:
        function(1, 64, (I32(1), np.zeros(64, I32)))
    (note,) = caught.value.__notes__
    assert note.startswith("Before that: kernel: race in shared memory, lines 3 and 4, in block (0, 0, 0).")


# ---- what it costs


def test_a_loop_over_tiles_is_analysed_once_and_not_once_a_tile(monkeypatch):
    analysed = []
    analyse = Epoch.analyse
    monkeypatch.setattr(Epoch, "analyse", lambda epoch: analysed.append(epoch) or analyse(epoch))
    monkeypatch.setattr(compiled, "execute", lambda *_: None)
    function = kernel(
        "int tiles, const float *x, float *y",
        "__shared__ float tile[64];\nfloat sum = 0;\n#pragma unroll 1\nfor (int t = 0; t < tiles; ++t) {\n"
        "tile[threadIdx.x] = x[64 * t + threadIdx.x];\n__syncthreads();\n"
        "for (int k = 0; k < 64; ++k) sum += tile[k];\n__syncthreads();\n}\ny[threadIdx.x] = sum;",
    )
    y = np.zeros(64, F32)
    for _ in range(2):
        function((3,), 64, (I32(100), np.ones(6400, F32), y))
    assert (y == 6400).all()
    # The first store finds memory that nobody has written, the later ones do not; then there are the loads.
    assert len(analysed) == 3


def test_arrays_too_large_to_be_watched_are_named(monkeypatch):
    monkeypatch.setattr(checks, "MOST_WATCHED_BYTES", 64)
    function = kernel("int *small, int *large", "small[threadIdx.x] = 1;\nlarge[threadIdx.x] = 1;")
    with gpusim.sanitize() as reports:
        function(1, 16, (np.zeros(16, I32), np.zeros(17, I32)))
    assert reports[0].notes == ("large is so large that races in it were not looked for.",)
    assert str(reports[0]).endswith("\n\nlarge is so large that races in it were not looked for.")


def test_a_log_without_a_barrier_is_cut_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(shared_checks, "MOST_ENTRIES", 100)
    monkeypatch.setattr(compiled, "library", lambda: None)  # the compiled engine keeps no log
    function = kernel(
        "int n, int *y",
        "__shared__ volatile int s[32];\ns[threadIdx.x] = 0;\n"
        "for (int i = 0; i < n; ++i) s[threadIdx.x] += i;\ny[threadIdx.x] = s[threadIdx.x];",
    )
    with gpusim.sanitize() as reports:
        function(1, 32, (I32(200), np.zeros(32, I32)))
    assert "kernel went so long without a barrier that races were looked for in 4 pieces." in reports[0].notes


# ---- arrays that nobody has written


def test_empty_array_knows_what_host_and_kernels_have_written():
    C = gpusim.empty((2, 4), F32)
    assert np.isnan(C).all() and C.unwritten.all()
    fill = kernel("int n, float *C", "if (threadIdx.x < n) C[threadIdx.x] = threadIdx.x;")
    fill(1, 32, (I32(3), C))
    assert C.unwritten.tolist() == [False] * 3 + [True] * 5
    copy = kernel("const float *C, float *out", "out[threadIdx.x] = C[threadIdx.x];")
    with pytest.raises(errors.UninitializedRead, match=r"reads C\[0, 3\]"):
        copy(1, 8, (C, np.zeros(8, F32)))
    np.copyto(C[0, 3:], 9)  # by whatever way the host writes
    C.flat[4:] = 1
    out = np.zeros(8, F32)
    copy(1, 8, (C, out))
    assert out.tolist() == [0, 1, 2, 9, 1, 1, 1, 1]
    assert C.unwritten is None


def test_a_view_of_an_empty_array_is_watched_as_part_of_it():
    C = gpusim.empty(64, I32)
    copy = kernel("const int *part, int *out", "out[threadIdx.x] = part[threadIdx.x];")
    C[32:40] = 5
    out = np.zeros(8, I32)
    copy(1, 8, (C[32:], out))
    assert (out == 5).all()
    with pytest.raises(errors.UninitializedRead):
        copy(1, 8, (C[33:], out))


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "uint16", "bool"))
def test_unwritten_narrow_integers_are_found(dtype):
    function = kernel("const TYPE *a, TYPE *y".replace("TYPE", NARROW[dtype]), "y[threadIdx.x] = a[threadIdx.x + 8];")
    a, y = gpusim.empty(40, dtype), gpusim.empty(32, dtype)
    with pytest.raises(errors.UninitializedRead, match=r"thread \(0, 0, 0\).* reads a\[8\], which was never written"):
        function((1,), (32,), (a, y))
    for number in range(256):  # whatever the host writes, it is not taken for nothing
        a[...] = number - 128 if dtype.startswith("int") else number
        function((1,), (32,), (a, y))
    function((1,), (24,), (y, a))  # what a kernel wrote
    assert (a[:24] == y[8:]).all()


@pytest.mark.parametrize("dtype", ("float32", "int32", "float64", "int8", "uint16", "bool"))
def test_host_writes_count_even_with_the_bits_of_empty(dtype):
    type_ = {**NARROW, "float32": "float", "int32": "int", "float64": "double"}[dtype]
    function = kernel("const TYPE *x, TYPE *y".replace("TYPE", type_), "y[threadIdx.x] = x[threadIdx.x];")
    x, y = gpusim.empty((8, 16), dtype), np.zeros(128, dtype)
    bits = np.array(x)
    x[1], x[2:4, :8], x.reshape(-1)[40:48], x[::-2][1, 8:] = bits[1], bits[2:4, :8], bits[2, 8:], bits[5, 8:]
    written = np.zeros((8, 16), bool)
    written[1:3], written[3, :8], written[5, 8:] = True, True, True
    for row in range(8):
        with gpusim.record(checks="report") as recording:
            function((1,), (16,), (x[row], y))
        assert bool(recording.checks.findings) == (not written[row].all()), row
    x = gpusim.empty((8, 16), dtype)
    x.fill(bits[0, 0])
    function((1,), (128,), (x, y))


NARROW = {"int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "bool": "bool"}


# ---- masks of functions of a warp

WARP = np.arange(64, dtype=I32)
WRONG_MASKS = {
    "the caller is not in it": ("o[t] = __shfl_xor_sync(0x0000ffffu, t, 1);", "thread (16, 0, 0)", 2),
    "a vote's": ("\no[t] = __ballot_sync(0xfff0u, t & 1);", "thread (0, 0, 0)", 3),
    "a reduction's": ("o[t] = __reduce_add_sync(0xffff0000u, t);", "thread (0, 0, 0)", 2),
    "a match's": ("o[t] = __match_any_sync(0x7fffffffu, t & 1);", "thread (31, 0, 0)", 2),
    "a barrier's": ("volatile __shared__ int s[32]; s[t] = t;\n__syncwarp(0xffffu);\no[t] = s[t ^ 1];", "(16, 0", 3),
    "known when it runs": (
        "unsigned m = x[3] * 0x5555; if (t < 20) {\no[t] = __shfl_xor_sync(m, t, 2);\n} else x[t] = 1;\no[t] += x[t];",
        "(16, 0, 0)", 3,
    ),
    "lanes that go past": (
        "int v = t;\nif (t < 16) {\nv = __shfl_down_sync(0xffffffffu, t, 1);\n} else { v = x[t] * 3; x[t] = v; }\n"
        "o[t] = v + x[t];", "names thread (16, 0, 0), too", 4,
    ),
    "lanes that go past a barrier": (
        "__shared__ int s[32]; s[t] = t;\nif (t < 16) {\ns[t] = 2;\n__syncwarp();\no[t] = s[t ^ 1];\n} else x[t] = 4;\n"
        "o[t] += x[t];", "names thread (16, 0, 0), too", 5,
    ),
    "a lane beyond it is asked": ("if (t < 16)\no[t] = __shfl_sync(0xffffu, t, t + 16);", "from lane 16", 3),
    "a lane that has ended is asked": ("if (t >= x[20]) return;\no[t] = __shfl_xor_sync(~0u, t, 16);", "lane 20 of", 3),
}  # fmt: skip


@pytest.mark.parametrize("body, what, line", WRONG_MASKS.values(), ids=WRONG_MASKS)
def test_a_wrong_mask_is_found_at_its_line(body, what, line, level):
    function = kernel("int *o, int *x", f"int t = threadIdx.x; {body}")
    with pytest.raises(errors.WarpMaskError) as caught, gpusim.record(level=level):
        function(1, 32, (np.zeros(32, I32), WARP.copy()))
    assert what in str(caught.value)
    assert caught.value.line == line


RIGHT_MASKS = {
    "half a warp": "if (t < 16) o[t] = __shfl_xor_sync(0xffffu, t, 1);",
    "two halves": "o[t] = __shfl_xor_sync(t < 16 ? 0xffffu : 0xffff0000u, t, 1);",
    "those that are there": "if (t % 3 == 0) o[t] = __shfl_down_sync(__activemask(), t, 3);",
    "by a ballot": "unsigned m = __ballot_sync(~0u, x[t] > 9); if (x[t] > 9) o[t] = __shfl_sync(m, t, 31);",
    "the rest has ended": "if (t >= x[20]) return; o[t] = __shfl_sync(~0u, t, 3); __syncwarp();",
    "a sum over half a warp": "int v = t; if (t < 16) for (int d = 8; d; d /= 2) v += __shfl_down_sync(0xffffu, v, d);"
    " if (t == 0) o[0] = v;",
    "in a loop": "int v = t; for (int i = 0; i < x[t / 32 + 5]; ++i) v += __shfl_xor_sync(~0u, v, i); o[t] = v;",
    "both branches come": "if (t < 16) { o[t] = 1; __syncwarp(); } else { o[t] = 2; __syncwarp(); } o[t] += 1;",
}


@pytest.mark.parametrize("body", RIGHT_MASKS.values(), ids=RIGHT_MASKS)
def test_a_right_mask_has_no_finding(body, level):
    with gpusim.record(level=level):
        kernel("int *o, int *x", f"int t = threadIdx.x; {body}")(1, 32, (np.zeros(32, I32), WARP.copy()))


def test_lanes_that_wait_for_ever_are_named_with_their_mask():
    body = "int t = threadIdx.x, v = t;\nif (t < 8) {\nv = __shfl_xor_sync(m, t, 1); o[t] = v; }\nelse x[t] = 1;"
    body += "\no[t] += x[t];"
    function = kernel("int *o, unsigned m, int *x", body)
    with pytest.raises(
        errors.BarrierError, match="its mask 0x0000ffff names lanes 8 to 15, which went another"
    ) as caught:
        function(1, 32, (np.zeros(32, I32), np.uint32(0xFFFF), WARP.copy()))
    assert caught.value.line == 4


MISSED = {  # (what stands inside of a branch of some lanes, whether it is a barrier that the others miss)
    "a shuffle beside the word": ("o[t] = __shfl_xor_sync(~0u, t, 1); /* no __syncthreads() */", False),
    "a shuffle beside a barrier": ("o[t] = __shfl_xor_sync(~0u, t, 1); __syncthreads();", False),
    "a barrier by its name": ("__syncthreads();", True),
    "a barrier in a function": ("meet();", True),
    "a barrier by a macro": ("MEET;", True),
    "a barrier that counts": ("o[t] = __syncthreads_count(x[t]);", True),
}


MISSING = {  # what lanes do that are missed: those of a branch inside of a branch wait at its end
    "the others go on": "if (t & 1) { STATEMENT x[t] += o[t]; }\no[t] += 1;",
    "the others wait": "if (t < x[8]) { o[t] = 2;\nif (t & 1) { STATEMENT x[t] += o[t]; }\no[t] += x[t]; }\nx[t] += 1;",
}


@pytest.mark.parametrize("arch", ("sm_75", "sm_80", "sm_90"))
@pytest.mark.parametrize("body", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("statement, is_barrier", MISSED.values(), ids=MISSED)
def test_missed_barrier_differs_from_a_warp_function_on_its_line(statement, is_barrier, body, arch):
    source = "#define MEET __syncthreads()\n__device__ void meet() { __syncthreads(); }\n"
    source += 'extern "C" __global__ void kernel(int *o, int *x) {\nint t = threadIdx.x;\n'
    source += body.replace("STATEMENT", statement) + "}"
    function = gpusim.RawModule(code=source, arch=arch).get_function("kernel")
    with pytest.raises((errors.BarrierError, errors.WarpMaskError)) as caught:
        function(1, 32, (np.zeros(32, I32), WARP.copy()))
    what = str(caught.value).partition("\n")[0]
    assert ("__syncthreads()" in what or "a barrier" in what) is is_barrier
    assert not is_barrier or "must be reached by all threads of the block" in str(caught.value)


# ---- arrays of a thread, and views


LOCAL = (
    "TYPE a[40];\nfor (int i = 0; i < 40 - x[MISSING]; ++i) a[x[i]] = i + threadIdx.x;\n\no[threadIdx.x] = a[x[5] + n];"
)


@pytest.mark.parametrize("type_", ("int", "char", "short", "double"))
def test_an_array_of_a_thread_is_watched(type_):
    body = LOCAL.replace("TYPE", type_)
    whole = kernel("int *o, const int *x, int n", body.replace("MISSING", "0"))
    half = kernel("int *o, const int *x, int n", body.replace("MISSING", "20"))
    o = np.zeros(32, I32)
    for index in range(-5, 35):
        whole(1, 32, (o, WARP, I32(index)))
        assert (o == np.arange(32) + 5 + index).all()
    half(1, 32, (o, WARP, I32(14)))
    with pytest.raises(errors.UninitializedRead, match=r"reads a variable of its own, or an element of one") as caught:
        half(1, 32, (o, WARP, I32(15)))
    assert caught.value.line == 5
    for index in (-25, 60):
        with pytest.raises(errors.OutOfBounds, match=rf"outside a: a\[{index + 5}\], but a has 40") as caught:
            whole(1, 32, (o, WARP, I32(index)))
        assert caught.value.line == 5


def test_unused_elements_of_a_thread_need_not_be_set():
    source = "struct P { char c; int i; float f[3]; };\n"
    source += "__device__ __noinline__ P make(int i) { P p; p.c = i; p.i = i; return p; }\n"
    body = 'extern "C" __global__ void kernel(int *o) { P p = make(threadIdx.x); o[threadIdx.x] = p.i + p.c; }'
    o = np.zeros(32, I32)
    gpusim.RawModule(code=source + body).get_function("kernel")((1,), (32,), (o,))
    assert (o == 2 * np.arange(32)).all()


@pytest.mark.parametrize("statement", ("o[t - 2] = 1;", "atomicAdd(&o[t - 2], 1);"), ids=("store", "atomic"))
@pytest.mark.parametrize(
    ("view", "thread", "index"), [(slice(8, 64), 0, -2), (slice(0, 18), 0, -2), (slice(2, 20), 0, -2)]
)
def test_what_is_written_outside_of_a_view_is_found(statement, view, thread, index):
    parent = np.zeros(64, I32)
    function = kernel("int *o", f"int t = threadIdx.x;\n{statement}")
    with pytest.raises(errors.OutOfBounds, match=f"index {index}") as caught:
        function(1, 32, (parent[view],))
    assert (caught.value.line, caught.value.thread, parent.any()) == (3, (thread, 0, 0), False)


def test_view_may_be_written_whole_and_two_make_one():
    parent = np.arange(64, dtype=I32)
    kernel("int *o, const int *x", "o[threadIdx.x] = x[int(threadIdx.x) - 1];")(1, 8, (parent[32:40], parent[8:16]))
    assert parent[32:40].tolist() == list(range(7, 15))
    with pytest.raises(errors.OutOfBounds, match="outside o, at its index 18: it has 18 elements"):
        kernel("int *o", "o[threadIdx.x] = 1;")(1, 32, (parent[2:20],))


@pytest.mark.parametrize("view", [slice(0, 7), slice(2, 5), slice(3, 4)])
def test_cas_of_half_words_stays_within_its_array(view, level):
    function = gpusim.RawModule(
        code="""extern "C" __global__ void swap(unsigned short *o, int beyond) {
        int t = threadIdx.x;
        atomicCAS(&o[t], (unsigned short)(3 + t), (unsigned short)(10 * t));
        if (beyond && t == 0) o[beyond] = 1;
    }"""
    ).get_function("swap")
    parent = np.zeros(7, np.uint16)
    parent[view] = np.arange(len(parent[view])) + 3
    n = len(parent[view])
    with gpusim.record(level=level):
        function((1,), (n,), (parent[view], np.int32(0)))
    assert parent[view].tolist() == [10 * t for t in range(n)] and parent.sum() == parent[view].sum()
    with pytest.raises(errors.OutOfBounds, match="wrote 2 bytes outside") as caught, gpusim.record(level=level):
        function((1,), (n,), (parent[view], np.int32(n)))
    assert caught.value.line == 4


# ---- the rules, against a slow oracle


class FakeWave:
    """As much of a wave as shared memory's checks look at."""

    def __init__(self, shape: tuple[int, int], size: int) -> None:
        self.shape, self.threads = shape, shape[1]
        self.shared = SimpleNamespace(size=size)
        self.exited = None
        self.program, self.instruction = (
            None,
            SimpleNamespace(index=0, is_observed=False, strong=False, begins_swap=False, opcode=""),
        )


PLAIN = ("ld", "ld", "st", "st", "atom", "cas", "warp", "warp", "barrier", "barrier")
HANDING_ON = ("ld", "ld", "st", "atom", "strong ld", "strong st", "meet", "hear", "tell", "fence", "fence", "fence",
              "warp")  # fmt: skip
VOLATILE = ("ld", "st", "atom", "cas", "strong ld", "unpolled ld", "unpolled ld", "volatile st", "volatile st", "fence",
            "warp")  # fmt: skip
RACING = ({"ld", "atom"}, {"ld", "volatile st"}, {"unpolled ld", "volatile st"})  # beside all with a store
LIKE = {"strong ld": "cas", "strong st": "atom"}  # what races with the same others
OF_GLOBAL_MEMORY, UPDATES = {"meet": "atom", "hear": "ld", "tell": "st"}, ("meet", "atom", "cas")
STRENGTHS = {"strong": Strength.STRONG, "unpolled": Strength.UNPOLLED, "volatile": Strength.VOLATILE}


def random_events(rng: np.random.Generator, shape: tuple[int, int], words: int, kinds=PLAIN, most=12) -> list[tuple]:
    """A random history of a wave: ("ld" | "st" | "atom" | "cas", words, mask, values), "warp" and "barrier", …"""
    events = []
    for _ in range(int(rng.integers(3, most))):
        what = rng.choice(kinds)
        rows = shape[0] if rng.random() < 0.4 else 1
        mask = None
        if rng.random() < 0.6:
            mask = rng.random((shape[0] if rng.random() < 0.5 else 1, shape[1])) < rng.choice((0.02, 0.05, 0.5))
            mask[0, 0] = True
        if what in OF_GLOBAL_MEMORY or what == "fence":
            events.append((what, None, mask, None))
        elif what == "warp":
            lanes = np.repeat(rng.random((shape[0], shape[1] // 32)) < 0.7, 32, axis=1)
            lanes[0, :32] = True
            events.append((what, None, None if rng.random() < 0.4 else lanes, None))
        elif what == "barrier":
            blocks = None if rng.random() < 0.6 else np.array([True, False]) ^ (rng.random() < 0.5)
            events.append((what, None, blocks, None))
        else:
            mostly_own = np.broadcast_to(np.arange(shape[1]) % words, (rows, shape[1]))
            places = np.where(rng.random((rows, shape[1])) < 0.05, rng.integers(0, words, (rows, shape[1])), mostly_own)
            values = rng.integers(0, 2, shape).astype(I32) if rng.random() < 0.5 else np.broadcast_to(I32(7), shape)
            events.append((what, places.astype(np.int64), mask, values))
    return events


def found_by_checks(events, shape, words, patterns) -> set[tuple[int, int]]:
    """The pairs of events that race, by SharedChecks; every word was written before."""
    pairs = set()

    def report(wave, hazard, times) -> None:
        assert hazard.kind == "race"
        pairs.add((hazard.first.instruction, hazard.second.instruction))

    strengths = {time: STRENGTHS.get(event[0].split()[0], Strength.PLAIN) for time, event in enumerate(events)}
    checks, wave = SharedChecks(report, SharedNames(strengths=strengths), patterns), FakeWave(shape, 4 * words)
    checks.begin(wave)
    everywhere = np.arange(shape[1], dtype=np.int64)[None, :]
    wave.instruction.index = -1
    checks.access(wave, "st", 4, 4 * everywhere, everywhere < words, (np.zeros((1, 1), I32),))
    checks.barrier(wave, None)
    for time, (what, places, mask, values) in enumerate(events):
        if what == "barrier":
            checks.barrier(wave, mask)
        elif what == "warp":
            checks.warp_barrier(mask)
        elif what == "fence":
            checks.fence(mask)
        elif what in OF_GLOBAL_MEMORY:
            checks.meet(mask, OF_GLOBAL_MEMORY[what])
        else:
            wave.instruction = SimpleNamespace(
                index=time, is_observed=what == "cas", strong=False, begins_swap=False, opcode=what
            )
            op = "atom" if what == "cas" else what.split()[-1]
            checks.access(wave, op, 4, 4 * places, mask, (values,) if op == "st" else ())
    checks.end(wave)
    return pairs


def found_by_oracle(events, shape) -> set[tuple[int, int]]:
    """The same, by comparing every access with every other one."""
    history: dict[tuple[int, int], list[tuple]] = {}
    epoch = np.zeros(shape[0], int)
    synchronised = np.full(shape, -1)
    pairs = set()
    for time, (what, places, mask, values) in enumerate(events):
        if what == "barrier":
            epoch[slice(None) if mask is None else mask] += 1
        elif what == "warp":
            synchronised[np.broadcast_to(True if mask is None else mask, shape)] = time
        elif what != "fence" and what not in OF_GLOBAL_MEMORY:
            active = np.broadcast_to(True if mask is None else mask, shape)
            word = np.broadcast_to(places, shape)
            for block, thread in np.argwhere(active).tolist():
                entry = (time, thread, what, int(values[block, thread]), int(synchronised[block, thread]))
                history.setdefault((block, int(epoch[block]), int(word[block, thread])), []).append(entry)
    for (block, _, _), accesses in history.items():
        for (t1, thread1, what1, value1, sync1), (t2, thread2, what2, value2, sync2) in combinations(accesses, 2):
            if thread1 == thread2 or (thread1 // 32 == thread2 // 32 and sync1 != sync2):
                continue
            kinds = {LIKE.get(what1, what1), LIKE.get(what2, what2)}
            if kinds == {"st"} and value1 == value2:
                continue
            if "st" not in kinds and kinds not in RACING:
                continue
            if not is_handed_on(events, shape, block, t1, thread1, t2, thread2):
                pairs.add((t1, t2))
    return pairs


def is_handed_on(events, shape, block, start, first, stop, second) -> bool:
    """Whether what a thread did at `start` is known to another at `stop`, by fences and meetings: step by step.

    Within one epoch, as there is no barrier of the block among events that hand on.
    """
    knows, fenced, received = (np.zeros(shape[1], bool) for _ in range(3))
    knows[first] = True
    released = False
    for what, _, mask, _ in events[start:stop]:
        lanes = np.broadcast_to(True if mask is None else mask, shape)[block] if what != "barrier" else None
        if what == "warp":
            for warp in range(0, shape[1], 32):
                here = np.flatnonzero(lanes[warp : warp + 32]) + warp
                for relation in (knows, fenced, received):
                    relation[here] = relation[here].any()
        elif what == "fence":
            fenced |= knows & lanes
        else:
            if what in ("tell", *UPDATES, "strong st", "volatile st"):
                released = released or bool((fenced & lanes).any())
            if what in ("hear", *UPDATES, "strong ld", "unpolled ld"):
                received |= released & lanes  # of those who update at once each may come behind any other
    return bool(received[second])


@pytest.mark.parametrize("seed", range(150))
def test_races_are_those_of_an_oracle_that_compares_all_pairs(seed):
    rng = np.random.default_rng(seed)
    shape, words = (2, 64), int(rng.choice((4, 24, 64)))
    events = random_events(rng, shape, words)
    expected = found_by_oracle(events, shape)
    patterns = Patterns()
    races = found_by_checks(events, shape, words, patterns)
    assert races <= expected
    assert bool(races) == bool(expected)
    # A second launch looks most of it up.
    assert found_by_checks(events, shape, words, patterns) == races


def random_handing_on(seed, kinds=HANDING_ON):
    rng = np.random.default_rng(seed)
    shape, words = (2, 64), int(rng.choice((24, 64)))
    return shape, words, random_events(rng, shape, words, kinds, 20)


@pytest.mark.parametrize("kinds", (HANDING_ON, VOLATILE), ids=("strong", "volatile"))
@pytest.mark.parametrize("seeds", [range(start, start + 20) for start in range(0, 100, 20)], ids=str)
def test_release_and_acquire_agree_with_a_stepwise_oracle(seeds, kinds):
    for seed in seeds:
        shape, words, events = random_handing_on(seed, kinds)
        expected = found_by_oracle(events, shape)
        races = found_by_checks(events, shape, words, Patterns())
        assert races <= expected
        assert bool(races) == bool(expected)


def test_the_random_histories_are_both_racy_and_clean():
    racy = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        shape, words = (2, 64), int(rng.choice((4, 24, 64)))
        racy += bool(found_by_oracle(random_events(rng, shape, words), shape))
    assert 30 < racy < 120
    for kinds in (HANDING_ON, VOLATILE):
        racy, otherwise = 0, 0
        for seed in range(100):
            shape, _, events = random_handing_on(seed, kinds)
            racy += bool(found_by_oracle(events, shape))
            unfenced = [("meet", *event[1:]) if event[0] == "fence" else event for event in events]
            otherwise += found_by_oracle(events, shape) != found_by_oracle(unfenced, shape)
        assert 10 < racy < 90
        assert otherwise > 5
