"""Numbers to reach, and what is said where they are missed."""

import pytest

from helpers import exercises
from helpers.exercises.framework import goals

STORE_OF_STRIP = "C[(tile_row + y * TM + i) * N + tile_col + x] = sums[i];"
STORE_OF_FLAT = "C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);"
COUNTED = "last = atomicAdd(arrived, 1) == gridDim.x - 1;\n"


def changed(name, *changes):
    source = exercises.get(name).solved
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    return exercises.get(name), source


@pytest.mark.parametrize(
    ("name", "store", "atomic"),
    [
        ("scale", "B[index] = c * A[index];", "atomicExch(&B[index], c * A[index]);"),
        ("strip", STORE_OF_STRIP, STORE_OF_STRIP.replace("C[", "atomicExch(&C[").replace("] = sums[i]", "], sums[i])")),
        ("flat_block", STORE_OF_FLAT, STORE_OF_FLAT.replace("C[", "atomicExch(&C[", 1)
         .replace("] =", "],", 1).replace(";", ");")),
    ],
)  # fmt: skip
def test_atomic_exchange_is_a_store(name, store, atomic):
    exercise, source = changed(name, (store, atomic))
    assert exercise.check(source).passed


@pytest.mark.parametrize(
    ("name", "store", "odd"), [("strip", f"for (int i = 0; i < TM; ++i) {STORE_OF_STRIP}", "y"),
                               ("flat_block", STORE_OF_FLAT, "x")],
)  # fmt: skip
def test_stores_of_idle_lanes_are_not_counted(name, store, odd):
    other = store.replace("] = ", "] = 0.0f + ", 1)
    exercise, source = changed(name, (store, f"if ({odd} % 2) {{ {store} }} else {{ {other} }}"))
    assert exercise.check(source).passed


def test_wide_stores_count_every_column():
    source = exercises.get("flat_block").solved
    head = source[: source.index("    // 1.")]
    wide = """    const int y = threadIdx.x / 4, x = threadIdx.x % 4 * 4;
    const int row = blockIdx.y * 8 + y, col = blockIdx.x * 16 + x;
    if (y >= 8 || row >= M) return;
    float v[4] = {};
    for (int e = 0; e < 4; ++e) {
        if (col + e >= N) break;
        for (int k = 0; k < K; ++k) v[e] += A[row * K + k] * B[k * N + col + e];
        v[e] = alpha * v[e] + (beta == 0.0f ? 0.0f : beta * C[row * N + col + e]);
    }
    float *const at = &C[row * N + col];
    if (N % 4 == 0 && col < N) *reinterpret_cast<float4 *>(at) = make_float4(v[0], v[1], v[2], v[3]);
    else for (int e = 0; e < 4; ++e) if (col + e < N) at[e] = v[e];
}
"""
    assert "24 pairs of neighbouring threads" in exercises.get("flat_block").check(head + wide).sentence


def test_conflicts_are_not_made_up_for_in_the_same_line():
    loads = """            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][right + j];
            }
"""
    one_line = "            for (int j = 0; j < 8; ++j) { a[j] = As[k][row + j]; b[j] = Bs[k][threadIdx.x * 8 + j]; }\n"
    stores = [(f"tile_col + {side} + j]", f"tile_col + threadIdx.x * 8{at} + j]") for side, at in
              (("left", ""), ("right", " + 4"))]  # fmt: skip
    exercise, source = changed("two_groups", (loads, one_line), *stores)
    assert "256 wavefronts of loads lost to bank conflicts" in exercise.check(source).sentence


def test_setting_the_count_back_is_no_count():
    add_up = "    v = 0.0f;\n    for (int b"
    exercise, source = changed("last_block", ("        *arrived = 0;\n", ""),
                               (add_up, f"    if (threadIdx.x == 0) atomicExch(arrived, 0u);\n{add_up}"))  # fmt: skip
    assert exercise.check(source).passed


def test_a_fence_of_the_block_is_none_of_the_gpu():
    exercise, source = changed(
        "last_block", (f"{COUNTED}        __threadfence", f"{COUNTED}        __threadfence_block")
    )
    assert "no __threadfence() lies between the count and the loads behind it" in exercise.check(source).sentence


def test_volatile_is_no_fence():
    stores, loads = "parts[blockIdx.x] = v;\n        __threadfence();", "v += parts[b]"
    volatile = (stores, "*(volatile float *)&parts[blockIdx.x] = v;"), (loads, "v += *(volatile float *)&parts[b]")
    exercise, source = changed("last_block", *volatile)
    assert "volatile is none: the count may be seen before what was stored" in exercise.check(source).sentence


def test_a_count_of_the_block_counts_no_blocks():
    exercise, source = changed("last_block", ("atomicAdd(arrived", "atomicAdd_block(arrived"))
    assert "race in global memory" in (sentence := exercise.check(source).sentence)
    assert "updates (atomically) arrived[0]" in sentence


def test_columns_that_go_down_are_neighbours_too():
    exercise, source = changed("flat_block", ("threadIdx.x % 16", "15 - threadIdx.x % 16"))
    assert exercise.check(source).passed


def test_product_and_sum_in_two_instructions_are_counted_as_one():
    exercise, source = changed(
        "strip", ("sums[i] += As[y * TM + i][k] * b;", "sums[i] = __fadd_rn(sums[i], __fmul_rn(As[y * TM + i][k], b));")
    )
    assert "0.50 shared loads per FMA: done" in exercise.check(source).sentence


def test_factor_in_a_register_is_not_read_from_memory_each_time():
    exercise, source = changed("two_tiles", ("float acc[2] = {};", """float acc[2] = {};
    for (int k = 0; k < K; ++k) {
        const float a = row < M ? A[row * K + k] : 0.0f;
        for (int half = 0; half < 2; ++half) acc[half] += col + half * T < N ? a * B[k * N + col + half * T] : 0.0f;
    }"""), ("k0 < K;", "k0 < 0;"))  # fmt: skip
    assert exercise.check(source).sentence.endswith("\nClue: The compiled kernel never reads shared memory.")


def test_each_array_has_its_own_elements():
    exercise, source = changed(
        "add_scaled",
        ('extern "C"', '__device__ float scaled[1024];\nextern "C"'),
        ("C[index] = c * A[index]", "C[index] = (scaled[index] = c * A[index])"),
    )
    assert exercise.check(source).passed


def test_fence_behind_the_count_counts_though_a_reset_follows():
    exercise, source = changed("last_block", ("*arrived = 0;", "atomicExch(arrived, 0u);"))
    assert exercise.check(source).passed
    exercise, source = changed("last_block", (f"{COUNTED}        __threadfence();", COUNTED))
    assert "no __threadfence() lies between the count and the loads" in exercise.check(source).sentence


def test_value_that_misses_its_goal_is_told_from_the_limit():
    goal = goals.sectors_a_load(2.6)
    assert goal.stated(2.63) == "2.63 sectors per load request" and goal.stated(2.59) == "2.6 sectors per load request"


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (goals.load_requests(4, 16, "B"), "1 load request to B"),
        (goals.strip_of_a_thread((32, 32), 4), "1 element of thread (0, 0) lies one below the other"),
        (
            goals.refused({"sgemm<1>": "it is too small", "sgemm<2>": "it is, too"}),
            "1 of 2 impossible settings is refused",
        ),
    ],
    ids=["a noun", "a verb", "of several"],
)
def test_one_of_what_a_goal_counts_is_no_plural(goal, said):
    assert goal.stated(1).startswith(said)


def test_what_blocks_store_is_not_loaded_as_constant():
    last_block = exercises.get("last_block")
    verdict = last_block.check(last_block.solved.replace("v += parts[b]", "v += __ldg(&parts[b])"))
    assert verdict.passed is False
    assert "1 access by which a block may miss" in verdict.sentence and "parts is loaded as what" in verdict.sentence


def test_lanes_that_happen_to_be_active_get_a_remark():
    kept = exercises.get("keep_positive")
    line = next(n for n, text in enumerate(kept.solved.split("\n"), 1) if "= __ballot_sync(FULL" in text)
    verdict = kept.check(kept.solved.replace("__ballot_sync(FULL", "__ballot_sync(__activemask()"))
    assert verdict.passed and f"__activemask() in line {line} names the lanes" in verdict.sentence
    assert "__activemask" not in kept.check(kept.solved).sentence
