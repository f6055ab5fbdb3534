"""Predicted times: the SM model executes what the simulator counts, and its times are near those of the recordings."""

from dataclasses import replace

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gpusim import devices
from gpusim.counters import counting
from gpusim.timing import prediction, tags
from gpusim.timing.series import CALIBRATION, HELD_BACK
from helpers import cycles, recordings, run
from helpers.measure import ALPHA, BETA
from helpers.tools.fitting import errors
from helpers.tools.measuring import calibrate, probes
from helpers.tools.measuring.workloads import workloads


def recorded_as_timed(launch):
    """The whole launch with the alpha and the beta of the recorded times, for which C is read."""
    kernel = run.simulated(launch.source, launch.entry, launch.options)
    with gpusim.record() as recording:
        run.start(kernel, launch, *run.operands(*launch.shape), ALPHA, BETA)
    return recording


@pytest.mark.parametrize("name", ["naive", "shared_memory", "vectorized", "warptiled"])
def test_block_issues_and_requests_what_the_simulator_counts(name):
    launch = get(name).launch(128, 256, 40)  # whole tiles: no warp diverges
    launch = replace(launch, grid=(1, 1, 1))
    counters = recorded_as_timed(launch).counters
    result = cycles.predict(launch).simulated.result
    assert result.instructions == counters["smsp__inst_executed.sum"]
    assert result.l1_sectors == counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    shared = [counters[f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"] for op in ("ld", "st")]
    if name != "warptiled":  # whose asynchronous copies are no stores for Nsight Compute
        assert result.shared_wavefronts == sum(shared)


def test_no_time_is_predicted_for_another_gpus_machine_code():
    launch = get("naive").launch(32, 32, 32)
    module = gpusim.RawModule(code=launch.source, options=launch.options, name_expressions=[launch.entry], arch="sm_80")
    kernel = module.get_function(launch.entry)
    with gpusim.capture() as caught:
        run.start(kernel, launch, *run.operands(*launch.shape), ALPHA, BETA)
    with pytest.raises(gpusim.SimulatorError, match=r"of sm_80, and the NVIDIA H200 .* for sm_90\.$"):
        cycles.predict(caught[0])


COPIES = """
extern "C" __global__ void copies(const float *from, float *out) {
    __shared__ float to[1024];
    const unsigned lane = threadIdx.x, source = READS, target = WRITES;
    const unsigned address = unsigned(__cvta_generic_to_shared(&to[target]));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(&from[source]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[lane] = to[target];
}"""


@pytest.mark.parametrize(
    ("reads", "writes", "waits"),
    [
        ("lane / 8 + lane % 8 * 32", "lane", 8),  # eight lines, the same words of each
        (
            "lane / 8 + lane % 8 * 32",
            "lane % 8 + lane / 8 * 32",
            11,
        ),  # and eight rows of four lanes each: other lanes meet there
        ("lane % 4 * 32 + lane / 4", "lane % 4 * 32 + lane / 4", 4),  # whoever meets on one side meets on the other
    ],
)
def test_copy_of_words_waits_in_the_model_as_counted(reads, writes, waits):
    code = COPIES.replace("READS", reads).replace("WRITES", writes)
    with gpusim.record() as recording:
        gpusim.RawModule(code=code).get_function("copies")((1,), (32,), (np.zeros(1024, "f4"), np.zeros(32, "f4")))
    lane = np.arange(32)[None]
    origin, to = (
        4 * eval(formula, {"lane": lane}) for formula in (reads.replace("/", "//"), writes.replace("/", "//"))
    )
    (copied,) = counting.copy_wavefronts(to, origin, np.ones((1, 32), bool), 4)
    (loaded,) = counting.wavefronts(to, np.ones((1, 32), bool), 4)
    assert copied == waits
    assert cycles.predict(recording).simulated.result.shared_wavefronts == copied + loaded


@pytest.mark.parametrize(
    ("K", "why"), [(64, "all rows begin in one bank"), (65, "all banks differ: the tags of four lines in each cycle")]
)
def test_load_of_many_lines_takes_l1_its_banks_or_its_tags(K, why):
    launch = replace(get("naive").launch(64, 64, K), grid=(1, 1, 1))
    machine = cycles.machine(devices.DEFAULT.name)
    known = machine.constants
    predicted = prediction.predict(cycles.traced(launch), replace(machine, constants={**known, "l1_fill": 0}))
    base = next(start for name, start, _ in predicted.trace.arrays if name == "A") // 4
    lines = (base + np.arange(32) * K + np.arange(K)[:, None]) // 32
    tag = tags.lookups(lines, tags.changes([int(known[f"tag_bank_{bit}"]) for bit in (0, 1)]))
    of_A = np.maximum(tag, 32 if K == 64 else 1).sum()
    assert K == 64 or 8 * K <= of_A < 11 * K
    warps, of_B, of_C = 32, K, 32 + 32  # all rows of C begin in one bank, where it is read and where it is written
    assert predicted.simulated.result.lsu_cycles == warps * (of_A + of_B + of_C), why


@pytest.mark.parametrize("name", probes.MIXED)
def test_loads_that_hit_and_miss_l1_take_as_long_as_on_a_gpu(name):
    """Of 8 SMs of an H100; here, what 16 turns take beyond eight."""
    gpu, cycles_of = errors.LEARNT_ON, []
    for turns in (8, 16):
        arrays = [np.zeros(n, np.int32) for n in (16, 1 << 10, 1 << 19)]
        args = (*arrays, np.int32(turns), np.int32(0), np.zeros(64, np.int32))
        with gpusim.capture() as caught:
            run.simulated(probes.MIXED_LOADS, name)((probes.FEW_SMS,), (1024,), args)
        cycles_of.append(cycles.predict(caught[0], gpu, cold=False).cycles)
    of_a_load = (cycles_of[1] - cycles_of[0]) / (8 * probes.LOADS * 32)
    measured = recordings.raw(gpu, "machine")["measured"][f"{probes.MIXED[name]} (cycles)"]
    assert of_a_load == pytest.approx(measured, rel=0.12)


UPDATES = """
extern "C" __global__ void updates(int *to) {
    __shared__ int total[1];
    int lane = threadIdx.x, *at = total + lane / 32;  // else the compiler adds up what the lanes add
    if (lane == 0) *at = 0;
    __syncthreads();
    HOW;
    __syncthreads();
    to[lane] = *at;
}"""


@pytest.mark.parametrize(
    ("how", "wavefronts"),
    [
        ("atomicAdd(at, lane)", 32),
        ("atomicCAS(at, lane, lane + 1)", 32),
        ("atomicAdd((float *)at, 1.0f)", 32 + 32),  # a loop of loads and of swaps, of which one lane's succeeds
    ],
)
def test_lanes_update_a_word_in_turn_but_fail_at_once_in_a_loop(how, wavefronts):
    kernel = gpusim.RawModule(code=UPDATES.replace("HOW", how)).get_function("updates")
    with gpusim.record() as recording:
        kernel((1,), (32,), (np.zeros(32, "i4"),))
    assert cycles.predict(recording).simulated.result.shared_wavefronts == wavefronts + 2  # and a store, and a load


def test_shared_float_atomics_cost_one_try_per_lane_as_on_gpu(monkeypatch):
    monkeypatch.setattr(calibrate, "COPIES", 8)
    loop = next(loop for loop, _ in calibrate._loops() if loop.name == "atoms_addf")
    kernel, gpu = run.simulated(loop.source, "loop_atoms_addf"), errors.LEARNT_ON

    def takes(stride):
        cycles_of = []
        for rounds in (1, 3):
            arrays = [np.zeros(n, kind) for n, kind in ((2, "u8"), (1, "i4"), (1, "i4"))]
            with gpusim.capture() as caught:
                kernel((1,), (32,), (*arrays, *map(np.int32, (rounds, stride, 0))), shared_mem=32768)
            cycles_of.append(cycles.predict(caught[0], gpu).cycles)
        return cycles_of[1] - cycles_of[0]

    measured = recordings.raw(gpu, "machine")["measured"]
    tries = measured["atoms_addf all×32 /0"] / measured["atoms_addf all×32 /1"]
    assert takes(0) / takes(1) == pytest.approx(tries, rel=0.12)


def test_scattered_reads_beyond_l2_are_fetched_by_each_sm():
    code = """
    extern "C" __global__ void look_up(const float *table, float *to) {
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        to[i] = table[i * 2654435761u >> 14];
    }"""
    n, entries = 264 * 1024, 1 << 18  # each sector is asked for by eight SMs
    with gpusim.capture() as caught:
        args = (np.zeros(entries, "f4"), np.zeros(n, "f4"))
        gpusim.RawModule(code=code).get_function("look_up")((n // 1024,), (1024,), args)
    trace, machine = cycles.traced(caught[0]), cycles.machine(devices.DEFAULT.name)

    def fetched(l2_bytes):
        device = replace(machine.device, l2_bytes=l2_bytes)
        return prediction.predict(trace, replace(machine, device=device)).simulated.result.dram_sectors

    assert fetched(1 << 18) > 2 * fetched(1 << 25)


def test_what_arrives_of_a_line_takes_l1_half_a_cycle():
    trace = cycles.traced(replace(get("naive").launch(64, 64, 64), grid=(1, 1, 1)))
    machine = cycles.machine(devices.DEFAULT.name)

    def busy(fill):
        predicted = prediction.predict(trace, replace(machine, constants={**machine.constants, "l1_fill": fill}))
        result = predicted.simulated.result
        return result.lsu_cycles, result.l1_sectors - result.l1_hits

    (without, sectors), (with_fill, _) = busy(0), busy(0.5)
    assert with_fill - without == pytest.approx(sectors / 4 * 0.5, abs=1)


ORDER = """
#define LOAD(v, from) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(from) : "memory")
extern "C" __global__ void order(const int *hit, const int *miss, int *to) {
    int first, late, soon;
    LOAD(first, hit + threadIdx.x);
    to[threadIdx.x] = first;
    LOAD(late, miss + threadIdx.x);
    __syncthreads();  // else the compiler lets loads, and stores, change places
    LOAD(soon, hit + threadIdx.x);
    to[threadIdx.x + 32] = soon;
    __syncthreads();
    to[threadIdx.x + 64] = late;
}
"""


def test_l1_hit_does_not_wait_for_the_earlier_miss():
    """An H200 has the value of the second load 37 cycles after the first one was issued, whose own takes 282."""
    hit, miss, to = (np.zeros(128, np.int32) for _ in range(3))
    with gpusim.capture() as caught:
        run.simulated(ORDER, "order")((1,), (32,), (hit, miss, to))
    predicted = cycles.predict(caught[0])
    code = [instruction.text for instruction in predicted.trace.program.instructions]
    events = predicted.timeline()
    stores = [event["issued"] for event in events if "STG" in code[event["pc"]]]
    loads = [event["issued"] for event in events if "LDG" in code[event["pc"]]]
    assert stores[1] - loads[1] < 100
    assert stores[2] - loads[1] > 250


def test_stalls_and_selection_account_for_every_warp_cycle():
    predicted = cycles.predict(get("coalesced").launch(64, 64, 64))
    result = predicted.simulated.result
    spent, lost = predicted.simulated.by_instruction.sum(axis=(0, 2))
    assert sum(predicted.stalls.values()) * result.instructions == pytest.approx(spent)
    assert predicted.stalls["selected"] == 1
    assert 0 < lost < spent


def test_waits_are_free_while_others_issue_cycles_add_up():
    predicted = cycles.predict(get("block_tile_2d").launch(512, 512, 512))
    by_line = predicted.by_line()
    issued = sum(reasons["selected"] for reasons in by_line.values())
    assert issued + sum(predicted.lost.values()) == pytest.approx(1)
    assert sum(sum(reasons.values()) for reasons in by_line.values()) == pytest.approx(1, abs=0.01)
    waiting = {name: value for name, value in predicted.stalls.items() if name in predicted.lost}
    assert sum(waiting.values()) * issued > 1.2 * sum(predicted.lost.values())  # most waits are hidden


def test_the_cycles_that_are_lost_are_those_of_the_timeline():
    predicted = cycles.predict(replace(get("shared_memory").launch(64, 64, 64), grid=(1, 1, 1)))
    events = predicted.timeline()
    cycles_of_scheduler = events["issued"].max() + 1
    issued = [np.unique(events["issued"][events["warp"] % 4 == scheduler]).size for scheduler in range(4)]
    assert 1 - sum(predicted.lost.values()) == pytest.approx(sum(issued) / 4 / cycles_of_scheduler, rel=0.01)


def test_timeline_issues_at_most_once_per_scheduler_and_cycle():
    events = cycles.predict(get("vectorized").launch(128, 128, 64)).timeline(5000)
    assert len(events) == 5000
    assert (events["issued"] >= events["ready"]).all()
    slots = events["issued"] * 4 + events["warp"] % 4
    assert len(np.unique(slots)) == len(slots)


@pytest.mark.parametrize(
    ("name", "size"), [("naive", 512), ("coalesced", 1024), ("vectorized", 1024), ("sliced_k", 1024)]
)
def test_a_kernel_of_the_ladder_takes_what_was_recorded(name, size):
    measured = recordings.gflops(get(name), size, size, size).median_ms
    assert cycles.predict(get(name).launch(size, size, size)).ms == pytest.approx(measured, rel=0.15)


def test_shortened_long_loop_takes_as_long_as_the_whole(monkeypatch):
    trace = cycles.traced(get("vectorized").launch(256, 256, 1024))
    known = cycles.machine("NVIDIA H200")
    whole = prediction.predict(trace, known).cycles
    monkeypatch.setattr(prediction, "BUDGET", 150_000)
    assert trace.warp_instructions > 150_000
    assert prediction.predict(trace, known).cycles == pytest.approx(whole, rel=0.03)


def test_a_recording_is_predicted_as_its_launch_is():
    launch = get("coalesced").launch(64, 64, 64)
    assert cycles.predict(recorded_as_timed(launch)).cycles == cycles.predict(launch).cycles


def test_an_empty_recording_has_no_time():
    with gpusim.record() as recording, pytest.raises(gpusim.SimulatorError, match="This recording is empty"):
        cycles.predict(recording)


def test_a_gpu_without_measurements_gets_a_sentence():
    with pytest.raises(cycles.NoConstants, match="python -m helpers.tools.measuring calibrate"):
        cycles.predict(get("naive").launch(32, 32, 32), "NVIDIA RTX 6000 Ada Generation")


def test_a_warm_cache_is_faster_and_the_sentence_says_which():
    launch = get("coalesced").launch(256, 256, 256)
    cold, warm = cycles.predict(launch), cycles.predict(launch, cold=False)
    assert warm.ms < cold.ms
    assert "cold L2" in str(cold)
    assert "warm L2" in str(warm)
    assert cold.range_ms[0] < cold.ms < cold.range_ms[1]


def test_warm_cache_too_small_for_the_arrays_is_a_cold_one():
    launch = get("coalesced").launch(4096, 64, 4096)  # A alone has 67 MB
    cold, warm = cycles.predict(launch), cycles.predict(launch, cold=False)
    assert warm.ms == cold.ms
    assert "for a warm one does not hold the launch's arrays" in str(warm)


@pytest.mark.table(keep=1)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("copy_float4 64M", "dram"), ("special_chain 264 × 1024", "xu"), ("fill 1M", "launch")],
)
def test_the_limiter_is_the_unit_that_is_busy(name, kind):
    workload = next(case for case in workloads() if case.name == name)
    with gpusim.capture() as caught:
        run.simulated(workload.source, workload.kernel)(workload.grid, workload.block, workload.arguments())
    predicted = cycles.predict(caught[0])
    assert predicted.kind == kind
    assert f"{predicted.busy:.0%}" in predicted.limiter


def test_both_sets_of_workloads_are_large_and_share_no_kernel():
    halves = [{case.kernel for case in workloads() if case.half == half} for half in (CALIBRATION, HELD_BACK)]
    assert not halves[0] & halves[1]
    assert sum(1 for _ in workloads()) >= 60
    assert min(len([case for case in workloads() if case.half == half]) for half in (CALIBRATION, HELD_BACK)) >= 30


@pytest.mark.parametrize("number", [0, 3])
def test_the_recorded_errors_are_those_of_the_model_as_it_is(number):
    kept = [row for row in recordings.raw("NVIDIA H200", "cycles")["launches"] if row[0] == HELD_BACK]
    name, predicted = kept[number][1], kept[number][3]
    case = next(case for case in errors.cases(HELD_BACK) if case.name == name)
    prediction_now = prediction.predict(case.trace, cycles.machine("NVIDIA H200"))
    assert prediction_now.ms == pytest.approx(predicted, rel=0.01)


def test_loads_of_bytes_and_shorts_are_traced():
    code = """extern "C" __global__ void widen(const unsigned char *a, const short *b, int *to) {
        to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }"""
    with gpusim.capture() as caught:
        run.simulated(code, "widen")(
            (1,), (64,), (np.ones(64, np.uint8), np.ones(64, np.int16), np.zeros(64, np.int32))
        )
    assert cycles.predict(caught[0]).simulated.result.l1_sectors == 2 + 4


UNEVEN = """extern "C" __global__ void uneven(float *to, int steps) {
    float value = threadIdx.x;
    if (blockIdx.x >= gridDim.x / 2) for (int i = 0; i < steps; ++i) value = value * 0.9f + 1;
    to[blockIdx.x * blockDim.x + threadIdx.x] = value; }"""


@pytest.mark.parametrize(("blocks", "share"), [(132, 1), (132 * 64, 0.5)])
def test_blocks_that_do_other_things_than_the_first_count(blocks, share):
    """If all blocks are there at once the longest count, if others follow the mean."""

    def predicted(code):
        with gpusim.capture() as caught:
            run.simulated(code, "uneven")((blocks,), (256,), (np.zeros(blocks * 256, np.float32), np.int32(4000)))
        return cycles.predict(caught[0]).cycles

    uneven, all_long = predicted(UNEVEN), predicted(UNEVEN.replace("gridDim.x / 2", "0"))
    assert uneven == pytest.approx(share * all_long, rel=0.15)


ADDING = """extern "C" __global__ void add(TYPE *to) { atomicAdd(to, (TYPE)threadIdx.x); }"""


def test_float_additions_to_one_address_are_slower_than_integer():
    def predicted(type_, dtype):
        with gpusim.capture() as caught:
            run.simulated(ADDING.replace("TYPE", type_), "add")((1320,), (256,), (np.zeros(1, dtype),))
        return cycles.predict(caught[0])

    floats, integers = predicted("float", np.float32), predicted("int", np.int32)
    assert floats.kind == "store"
    assert floats.cycles > 1.5 * integers.cycles


PARTS = """extern "C" __global__ void store(float *to) {
    to[(blockIdx.x * blockDim.x + threadIdx.x) * 8] = threadIdx.x; }"""


def test_partial_sectors_cost_dram_reads_only_if_l2_must_write():
    def predicted(mib, cold):
        with gpusim.capture() as caught:
            threads = mib * 2**20 // 32
            run.simulated(PARTS, "store")((threads // 256,), (256,), (np.zeros(8 * threads, np.float32),))
        return cycles.predict(caught[0], cold=cold).cycles

    assert predicted(1, cold=True) == pytest.approx(predicted(1, cold=False), rel=0.1)
    assert predicted(24, cold=True) > 1.5 * predicted(24, cold=False)


def test_a_unit_is_called_the_limit_only_above_ninety_percent():
    busy = cycles.predict(get("block_tile_2d").launch(2048, 2048, 2048))
    assert busy.kind == "shared" and 0.7 < busy.busy < 0.9
    assert busy.limiter.startswith("The busiest part is the data path of shared memory and L1, busy in ")
    ready = "a warp is ready, and nothing is issued because the way into the core is closed (Dispatch Stall)."
    assert busy.limiter.endswith(ready), busy.limiter
    full = cycles.predict(get("naive").launch(512, 512, 512))
    assert full.limiter.startswith("The limit is ") == (full.busy >= 0.9 or full.kind in ("latency", "launch"))
