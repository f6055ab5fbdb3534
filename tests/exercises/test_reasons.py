"""A reason is proven by the text or by what a kernel does on matrices that say where each number comes from."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import exercises
from helpers.exercises.framework import contents, feedback, overall, products, reasons, text_slips, trial
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.probes import CannotProbe, Probe
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.run import simulated

KERNEL = """extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}"""
TILES = Tiles(BM=8, BN=8, BK=4)
PROBLEM = Gemm("sgemm", (8, 8), (8, 8), TILES, scaled=False, shapes=((8, 16, 12),))


def probe(before: str = "", after: str = "") -> Probe:
    assert before in KERNEL
    return Probe(simulated(KERNEL.replace(before, after), "sgemm"), PROBLEM, Case({"M": 8, "N": 16, "K": 12}))


def test_a_right_kernel_takes_each_k_once_and_its_own_row():
    probed = probe()
    assert (probed.count == 12).all() and not probed.unwritten.any() and probed.degrees == (1, 1)
    assert (probed.ks(of_A=True) == 1).all() and (probed.of_A(5).col == 5).all()
    assert (probed.of_A(5).row == np.arange(8)[:, None]).all() and (probed.of_B(5).col == np.arange(16)).all()
    assert products.explained(probed, TILES) == ()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("k < K", "k + 4 < K", "lacks the products with k = 8 to 11"),
        ("k = 0", "k = 2", "lacks the products with k = 0 and 1"),
        ("++k) sum", "++k) for (int i = k == 3; i < 2; ++i) sum", "twice"),
        ("A[row * K + k]", "A[k * K + row]", "row and k traded places"),
        ("A[row * K + k]", "A[row * N + k]", "rows were N floats long"),
        ("B[k * N + col]", "B[k % 4 * N + col]", "row 0 of B is in 3 products, and one is needed"),
        ("B[k * N + col]", "A[row * K + k]", "No number of B is in C"),
        ("C[row * N + col]", "C[row * N + (col ^ 8)]", "what is in C[0, 0] is the value of C[0, 8]"),
        ("C[row * N + col]", "if (col < 8) C[row * N + (col ^ 4)]", "All wrong elements that are stored hold the sum"),
        ("sum += ", "sum = (k == 5 ? 0 : sum) + ", "lacks the products with k = 0 to 4"),
        ("sum += ", "if (row < 5) sum += ", "Every wrong element has none of its products."),
    ],
)
def test_products_that_are_wrong_are_named_as_a_set(before, after, reason):
    assert reason in " ".join(products.explained(probe(before, after), TILES))


def test_rows_that_a_does_not_have_are_no_other_elements():
    said = " ".join(products.explained(probe("A[row * K + k]", "A[(row + 3) * K + k]"), TILES))
    assert "C[0, 0] is the value of C[3, 0]" in said and "All wrong elements" not in said


def test_unwritten_and_accumulated_elements_are_distinguished():
    assert probe("C[row * N + col] =", "if (col > 2) C[row * N + col] =").unwritten[:, :3].all()
    added = probe("C[row * N + col] =", "C[row * N + col] +=")
    assert not added.unwritten.any() and added.spoilt.all()


def test_a_kernel_that_does_not_run_to_its_end_cannot_be_asked():
    with pytest.raises(CannotProbe):
        probe("C[row", "C[(1 << 28) + row").count  # noqa: B018


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("if (beta = 0) x = 1;", "= assigns: the condition sets"),
        ("__syncthreads;", "Without () there is no barrier"),
        ("for (int i = 0; i < n; ++i);", "its whole body"),
        ("if (row < M && col < N);", "is all that depends"),
        ("sum =+ a;", "=+ assigns"),
        ("if (0 <= row < M) x = 1;", "compares in turns"),
        ("As[y][x] = 0 <= k0 + x < K ? A[k0 + x] : 0.0f;", "has 0 <= k0 + x < K. C++ compares in turns"),
    ],
)
def test_a_slip_in_the_text_is_named_with_its_line(line, reason):
    said = text_slips.explanation(f"int a;\n\n    {line}\n")
    assert said.startswith("Line 3 has ") and reason in said


@pytest.mark.parametrize(
    "line",
    ["if (a <= b && b >= c) x = 1;", "for (int i = 0; i < n; ++i) x = i;", "while (++k < K) x += 1;", "x = a == b;",
     "__syncthreads();", "if (x != 0) return;", "const bool more = k0 + T < K;", "x = +1;",
     "for (int k = 0; k < K; sum += a[k], ++k);", "const bool same =\n    x == y;", "if (a) ; else x = 1;",
     "return 4 * k;", "if (n % 2) return n / 2; else return 3 * n + 1;",
     "while ((k = next(k)) < K) x += k;", 'asm("ld {%0}, [%1];" : "=r"(x) : "l"(p));',
     'printf("C[%d, %d]", row, col);', "/* A[row, k] */", "const auto [row, col] = place();",
     "x[Size<M, 1>::value] = 0;", "array<array<float, 4>, 4> sums;",
     "float s[8]; for (int k = 1; k <= 8; k += 2) s[k] = 0.0f;",
     "float s[8]; for (int k = 0; k <= 8; ++k) for (int q = k; q < 8; ++q) x += s[k];",
     "lane == 0 && f(x);", "lane == 0 ? f(x) : g(x);", "if (q = lane && x < y) x = 1;", "*t = atomicAdd(t, x) + x;",
     "for (q = 0; q < n && x[q] > 0; ++q);", "for (unsigned k = K - 1; k < K; --k) x += k;", "float *at;",
     "s[n++] = x; s[n++] = 0;", "for (int i = 0; i < 4; ++i) s[i] = x; s[i] = 0;", "Tile<T - 1> tile;", "S **at;",
     "float x; int n = (unsigned) x;",
     "float s[8]; void f(int n) { for (int k = 0; k <= n; ++k) s[k] = 0; }\nint n = 8;",
     "float f(float x) { return x; } void g() { int x = 1; int row = x; }", "int n =+1;",
     "float f(float *at) { return *at = 0; } void g() { f(&x); }",
     "{ const int x = f(); { int x = 0; x += 1; s[x] = 1; } y[x] = 1; }",
     "{ int n = 0; { int n = k; n += 1; s[n] = 1; } ++n; y[n] = 1; }",
     "extern __shared__ float s[]; } __global__ void g() { extern __shared__ float r[];",
     "extern __shared__ float s[]; extern __shared__ float4 wide[];", "float *tiles[2];", "float *__restrict__ at;",
     "if (int n = M; n == 0) return;", "s[0] = atomicLarger(&s[0], x);",
     "#define ADD x += 1.0f\nfloat x = 0.0f; { float x = f(); y = x; } ADD; z = x;"],
)  # fmt: skip
def test_what_only_looks_like_a_slip_is_left_alone(line):
    assert text_slips.found_in(line) is None and text_slips.explanation(f"int a;\n{line}") == ""


@pytest.mark.parametrize(
    ("name", "before", "after", "reason"),
    [
        ("strip", "As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k]", "As[y][x] = A[(tile_row + y) * K + k0 + x]",
         "`x` is 8 for thread (8, 0), but As[32][8] has 8\u00a0columns"),
        ("beta", "row >= M || col >= N", "row >= M && col >= N", "one of the two is enough: ||"),
        ("column_major", "row >= M || col >= N", "row < M && col < N", "With `!(row < M && col < N)`"),
        ("rows_and_columns", "row < M && col < N", "row < M || col < N", "With `row < M && col < N`"),
        ("rows_and_columns", "row < M && col < N", "row <= M && col < N", "With `row < M && col < N`"),
        ("tiled", "#define T 16", "#define T 16;", "No ; after #define: line 2"),
        ("deep_tiles", "As[y][k]", "As[k][y]", "`k` is 8 for thread (0, 0), but As[8][128] has 8\u00a0rows"),
        ("patch", "i < TM; ++i) a[i]", "i <= TM; ++i) a[i]", "a[TM] has no element 4"),
        ("tunable", "i < TM; ++i) a[i]", "i <= TM; ++i) a[i]", "a[TM] has no element TM"),
        ("fragments", "< 4; ++n) {\n        const", "< 5; ++n) {\n        const", "sums[4] has no element 4"),
        ("turned", "i < TM; ++i) a[i]", "i <= TM; ++i) a[i]", "a[TM] has no element 4"),
        ("naive", "blockIdx.y", "blockidx.y", "Did you mean blockIdx?"),
        ("add_scaled", "+ B[index]", "+ B", "as in B[i]"),
        ("naive", "C[row * N + col] = ", "C[row * N + col] += ", "added to the old C"),
        ("coalesced", "float sum = 0.0f;", "int sum = 0;", "sum is of type int"),
        ("coalesced", "blockIdx.y * blockDim.y", "blockIdx.y * blockDim.x", "`row` is 32, and A has 16\u00a0rows"),
        ("tunable", "__shared__ float As", "float As", "with `__shared__ float As"),
        ("two_levels", "v = warp_sum(v);\n    if", "warp_sum(v);\n    if", "nothing with what it returns"),
        ("warp_tree", "float v = i < n", "int v = i < n", "v is of type int"),
        ("one_atomic", "atomicAdd(total", "*total = atomicAdd(total", "returns what was there before"),
        ("beta", "alpha * sum + beta * old", "alpha * sum + beta * sum", "C becomes alpha * sum + beta * sum"),
        ("two_tiles", "As[y][k]", "As[y][k + half * T]", "`k + half * T` is 16 for thread (0, 15)"),
        ("scale", "+ threadIdx.x", "+ threadIdx.y", "in all threads. With threadIdx.x this launch is right"),
        ("flat_block", "threadIdx.x / 16", "threadIdx.y", "with `const int y = threadIdx.x / 16;` in its place"),
        ("group_scales", "row >= M || col >= N", "row >= M && col >= N", "with `if (row >= M || col >= N || group"),
        ("two_groups", "right = left + BN / 2", "right = BN / 2", "no thread stores columns 36 to 63"),
        ("histogram", "mine[x[i]], 1", "mine[i], 1", "Its bin is the number itself, x[i]."),
        ("naive", "k < K; ++k", "k > K; ++k", "does not hold (K is 24). With `k < K` this launch is right."),
        ("naive", "sum += A", "sum + A", "and does nothing with it: sum stays what it was"),
        ("add_scaled", "if (index < N) C[index] = c * A[index]", "C[N] = c * A[N]", "`N` is 1024 in every thread"),
        ("beta", "beta != 0.0f", "beta > 0.0f", "does not hold for beta = -0.5"),
        ("warp_numbers", "thread / 32", "threadIdx.x / 32 + threadIdx.y * blockDim.x / 32", "one by one"),
    ],
)  # fmt: skip
def test_a_likely_slip_gets_its_own_reason(name, before, after, reason):
    exercise = exercises.get(name)
    assert before in exercise.solved
    verdict = exercise.check(exercise.solved.replace(before, after))
    assert verdict.passed is False and reason in verdict.sentence, verdict.sentence


@pytest.mark.parametrize(
    "old",
    [
        "float old = C[row * N + col];\n    if (beta == 0.0f) old = 0.0f;",
        "float old = 0.0f;\n    if (!isnan(C[row * N + col])) old = C[row * N + col];",
    ],
)
def test_the_old_c_is_not_read_where_beta_is_0(old):
    beta = exercises.get("beta")
    before = "float old = 0.0f;\n    if (beta != 0.0f) old = C[row * N + col];"
    verdict = beta.check(beta.solved.replace(before, old))
    assert not verdict.passed and re.search(r"With beta = 0, line \d+ reads the old C", verdict.sentence)


@pytest.mark.parametrize(("stores", "several"), [("C[0] = C[row * N + col] = sum", 1), ("C[row * N + col] = 0; ", 0)])
def test_elements_of_several_threads_are_told_from_those_of_one(stores, several):
    kernel = simulated(KERNEL.replace("C[row", f"{stores}; C[row"), "sgemm")
    assert trial.stored_by_several(kernel, PROBLEM, Case({"M": 8, "N": 16, "K": 12})).sum() == several


@pytest.mark.parametrize(("name", "borders"), [("batch", False), ("grouped", False), ("dropout", True)])
def test_borders_are_drawn_only_where_blocks_have_tiles(name, borders):
    problem = exercises.get(name).problem
    shape = problem.as_matrix(problem.prepare(problem.cases[0]).expected).shape
    assert feedback._tile(problem, problem.cases[0]) == (problem.tile if borders else shape)


def test_what_several_blocks_store_is_not_drawn_as_right():
    caption = exercises.get("flat_block").check().picture.caption
    assert "128 of them are stored by several threads" in caption and caption.startswith("320 of 384")


def test_names_that_changed_places_are_said_to_have():
    naive = exercises.get("naive")
    rows = "const int row = blockIdx.x * blockDim.x + threadIdx.x", "int row = blockIdx.y * blockDim.y + threadIdx.y"
    cols = "const int col = blockIdx.y * blockDim.y + threadIdx.y", "int col = blockIdx.x * blockDim.x + threadIdx.x"
    sentence = naive.check(naive.solved.replace(*rows).replace(*cols)).sentence
    assert "x and y trade places: here x is the row index" in sentence


def test_a_right_kernel_that_loads_in_many_sectors_is_remarked():
    strip = exercises.get("strip")
    scattered = strip.solved.replace("thread / BK, a_k = thread % BK", "thread % BM, a_k = thread / BM")
    verdict = strip.check(scattered)
    assert verdict.passed and "a load request to A fetches" in verdict.sentence
    assert "sectors on average" not in strip.check(strip.solved).sentence


def test_the_old_C_is_no_reason_for_a_tile_that_is_not_written():
    exercise = exercises.get("tile_edges")
    source = exercise.solved.replace("if (beta != 0.0f) ", "").replace("        Bs[y][x] = 0.0f;\n", "")
    sentence = exercise.check(source).sentence
    assert "which no thread has written" in sentence and "the old C" not in sentence, sentence


def test_what_is_added_to_NaN_is_no_reason_for_a_race():
    naive = exercises.get("naive")
    row = "for (int c = 0; c < N; ++c) C[row * N + c] += A[row * K + k] * B[k * N + c]"
    source = naive.solved.replace("sum += A[row * K + k] * B[k * N + col]", row).replace("C[row * N + col] = sum;", "")
    sentence = naive.check(source).sentence
    assert "race in global memory" in sentence and "is NaN" not in sentence, sentence


def test_what_asks_the_hardware_for_its_warp_is_refused():
    exercise = exercises.get("warp_numbers")
    asked = 'int warp; asm("mov.u32 %0, %%warpid;" : "=r"(warp));'
    source = exercise.solved.replace("const int warp =", f"{asked} warp = warp + 0 *")
    assert "%warpid may change" in exercise.check(source).sentence


def test_a_right_kernel_that_stores_to_its_input_is_remarked():
    exercise = exercises.get("scale")
    source = exercise.solved.replace("const float *A", "float *A").replace(
        "B[index] = c * A[index]", "B[index] = A[index] *= c"
    )
    verdict = exercise.check(source)
    assert verdict.passed and "it stores to A, too" in verdict.sentence, verdict.sentence


def test_an_element_that_is_stored_twice_is_remarked():
    exercise = exercises.get("rows_and_columns")
    stored = "B[row * N + col] = alpha * A[row * N + col];"
    below = f"if (row + 1 < M) {stored.replace('row *', '(row + 1) *')}"
    verdict = exercise.check(exercise.solved.replace(stored, f"{{ {stored} {below} }}"))
    assert verdict.passed and "stores to an element more often" in verdict.sentence, verdict.sentence


def test_neighbours_outside_of_the_tile_are_not_counted():
    exercise = exercises.get("flat_block")
    whole = "const int i = (blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.x, row = i / N, col = i % N;"
    source = re.sub(r"(?s)const int y = .*?const int col = [^;]*;", whole, exercise.solved)
    assert whole in source and "15 pairs of neighbouring threads" in exercise.check(source).sentence


def test_no_guard_is_advised_that_keeps_fewer_threads_away():
    naive = exercises.get("naive")
    guarded = naive.solved.replace("float sum", "if (row < N && col < M) {\n    float sum").replace(
        "= sum;", "= sum;\n    }"
    )
    sentence = naive.check(guarded).sentence
    assert "does not hold" in sentence and "||" not in sentence, sentence


def test_an_index_with_a_loop_is_not_said_to_be_out_of_reach():
    exercise = exercises.get("patch")
    verdict = exercise.check(exercise.solved.replace("const int row = threadIdx.y * TM", "const int row = threadIdx.y"))
    assert "No thread's index" not in verdict.sentence and "Why: " in verdict.sentence, verdict.sentence


def test_a_known_slip_is_not_named_where_its_line_is_right():
    exercise = exercises.get("two_groups")  # as if b[4 + j] came from the left group: the numbers are the same
    verdict = exercise.check(exercise.solved.replace("= sums[i][4 + j]", "= sums[i][j]"))
    assert "are taken from the left group" not in verdict.sentence and "value of C[0, 0]" in verdict.sentence


@pytest.mark.parametrize(
    ("index", "asked"),
    [("threadIdx.y * blockDim.x + threadIdx.x", "k < K"), ("threadIdx.x", "threadIdx.y == 0 && k < K")],
)
def test_an_index_that_suits_every_launch_is_not_the_cause(index, asked):
    flat = exercises.get("flat_block")
    source = flat.solved.replace("threadIdx.x / 16", f"({index}) / 16").replace("k < K", asked.replace("K", "K - 1"))
    sentence = flat.check(source).sentence
    assert "threads along" not in sentence and "The last product, k = K − 1, is missing" in sentence, sentence


def test_a_loop_in_steps_of_the_launch_is_not_the_cause():
    exercise = exercises.get("add_scaled")
    loop = "for (int i = index; i < N; i += gridDim.x * blockDim.x) C[i] = c * A[i]"
    source = exercise.solved.replace("if (index < N) C[index] = c * A[index]", loop).replace("B[index]", "B[i]")
    sentence = exercise.check(source.replace("threadIdx.x;", "threadIdx.x + 1;")).sentence
    assert "needs no loop" not in sentence and "threadIdx.x;` in its place" in sentence, sentence


@pytest.mark.parametrize("guard", ["if (!(row < M && col < N)) return;", "if (row >= M && col >= N) return;"])
def test_a_condition_behind_the_access_is_not_the_cause(guard):
    exercise = exercises.get("tile_edges")
    source = exercise.solved.replace("if (row >= M || col >= N) return;", guard)
    source = source.replace("if (row < M && k0 + x < K) As", "if (k0 + x < K) As")
    sentence = exercise.check(source).sentence
    assert "so it goes on" not in sentence and "`row` is 19, and A has 19\u00a0rows" in sentence, sentence


@pytest.mark.parametrize(
    ("name", "before", "after", "claim"),
    [
        (
            "tile_edges",
            "        if (k0 + y < K && col < N)",
            "if (x == 0) if (k0 + y < K && col < N)",
            "without braces",
        ),
        ("tile_edges", "    C[row * N", "    if (x == 0) C[row * N", "`beta != 0.0f` in line 34 does not hold"),
        ("tile_edges", "K) As[y][x] =", "K) Bs[y][x] =", "The 0 comes first"),
        ("unmerged_lanes", "{b.x, b.y,", "{b.x, b.x,", "All columns of a thread's patch"),
        ("two_buffers", "        buffer = 1", "        if (x == 0) buffer = 1", "that is one buffer"),
    ],
)
def test_what_is_not_the_cause_is_not_claimed(name, before, after, claim):
    exercise = exercises.get(name)
    assert before in exercise.solved
    sentence = exercise.check(exercise.solved.replace(before, after)).sentence
    assert claim not in sentence and ("Why: " in sentence or "Clue: " in sentence), sentence


_AS_FLOAT4 = (  # counted in floats
    (
        "            if (N % 4 == 0 && tile_col",
        "const float4 *of = (const float4 *)B;\n            if (N % 4 == 0 && tile_col",
    ),
    ("*reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);", "of[(k0 + k) * N + tile_col + c];"),
)
_DYNAMIC = (
    ("__shared__ float As[T][DEPTH];", "extern __shared__ float room[]; float (*As)[DEPTH] = (float (*)[DEPTH])room;"),
    ("__shared__ float Bs[DEPTH][T];", "float (*Bs)[T] = (float (*)[T])(room + T * DEPTH);"),
)
_TO_ALL = ("__syncthreads();\n        for (int k = 0;", "for (int k = 0;")


@pytest.mark.parametrize(
    ("name", "changes", "false"),
    [
        ("room_at_launch", (("        As[y * T + x] =", "if (x == 0) As[y * T + x] ="),), "is indented"),
        ("room_at_launch", (_TO_ALL, ("    C[row * N + col]", "    if (x == 0) C[row * N + col]")), "But C[0, 1]"),
        ("turned", (("a[i] * b[j]", "a[i] * b[j + 1]"),), "`i` is 4"),
        ("turned", (("Bs[k][col + j]", "Bs[k][col - j]"),), "`k` is -1"),
        ("turned", (("i < BK * BN", "i < BK"),), "stores row 0 of Bs"),
        ("wide", _AS_FLOAT4, "`k` is 16"),  # in b_at, which is not called there
        ("warp_tile", (("{a.x, a.y, a.z, a.w}", "{a.x, a.x, a.x, a.x}"),), "does not move"),
        ("four_at_once", (("alpha * v.x, alpha * v.y", "alpha * v.x, alpha"),), "is added"),
        ("four_at_once", (("j < N; ++j", "j > N; ++j"),), "Write --j"),
        ("coalesced", (("k < K", "y < K"),), "An array has a size"),
        ("dropout", (("    x = (x ^ x >> 15)", "if (threadIdx.x == 0) x = (x ^ x >> 15)"),), "With both in { }"),
        ("three_maps", (("    P[down * 3 * LANES_X + LANES_X + across] = lane;\n", ""),), "every tile"),
        ("keep_positive", (("if (v >", "if (lane == 0 && v >"), ("kept += ", "")), "several threads"),
        (
            "coalesced",
            (("for (int k = 0; k < K; ++k) sum += A[row * K + k]", "sum = A[row * K]"), ("k * N + ", "")),
            "loop",
        ),
        ("column_major", (("    C[", "    if (beta != 0.0f) C["),), "must not be read"),
        ("deep_tiles", _DYNAMIC, "`row * K + k0 + d + x` is 0"),
        (
            "naive",
            (
                ("float sum", "auto a_at = [&](int row, int k) { return A[row * K + k + 1]; };\n    float sum"),
                ("A[row * K + k] *", "a_at(row + 5, k) *"),
            ),
            "`k + 1` is",
        ),
        ("naive", (("A[row * K + k]", "A[row * K + k] * A[k * K + 3 * col + 900]"),), "`k` is 900"),
        ("naive", (("float sum = 0", "float sum = 0 * A[(row + 500) * 4 + col]"),), "`4` ="),
        ("naive", (("float sum", "A += row * K;\n    float sum"), ("A[row * K + k]", "A[k * N + 3]")), "`N` = 48"),
        ("tiled", (("As[y][x] =", "As[y][threadIdx.x - 1] ="),), "is -1 for thread"),
        ("tiled", (("As[y][x] =", "As[0][y * T + x] ="), ("__syncthreads();", "")), "has 16\u00a0columns"),
        (
            "strip",
            (("for (int i = 0; i < TM; ++i)", "for (int i = 0; i < TM; i += 3)"), ("TM + i]", "TM + i + 1]")),
            "too far",
        ),
        (
            "tile_edges",
            (
                ("float sum", "int &r = const_cast<int &>(row); r += 1;\n    float sum"),
                ("if (row < M && k0", "if (k0"),
            ),
            "is 48",
        ),
        ("two_tiles", (("float acc[2] = {}", "float acc = 0.0f"), ("acc[half]", "acc")), " twice"),
        ("tiled", (("A[row * K + k0 + x]", "A[row * 32 + k0 + x]"),), "N floats long"),  # N is 32 in one shape
        ("tiled", (("col] = sum", "col] = sum / K"),), "in 0 products"),
        ("naive", (("k] * B", "k] - B"),), "othing is added"),
        ("column_sums", (("+= A[row * N + col]", "+= fabsf(A[row * N + col])"),), "other elements"),
        ("naive", (("float sum = 0.0f", "float sum, a; sum = 0"), ("A[row * K + k] *", "a *")), "from sum"),
        ("beta", (("float old = 0.0f;", "float old = 0.0f; while (M == 1) old = 1 - old;"),), "of 8"),
        ("beta", (("alpha * sum + beta * old", "alpha * beta * sum + old"),), "\nClue: C becomes"),
        ("tiled", (("Bs[k][x]", "As[y][k]"),), ", `As[y][k]`: with"),  # which of the two?
        ("two_levels", (("if (lane == 0) of_warp", "of_warp"),), "must be stored by one thread"),
        ("add_scaled", (("= c * A[index] + B[index]", "= (int)(c * A[index] + B[index])"),), "A once"),
        (
            "rows_and_columns",
            (("threadIdx.y", "threadIdx.z"), ("threadIdx.x", "threadIdx.y"), ("threadIdx.z", "threadIdx.x")),
            "does not hold",
        ),
        ("naive", (("blockIdx.y * blockDim.y + threadIdx.y", "row"),), "does not ask for"),
        ("scale", (("float c", "int c"),), "pass numpy"),
        ("beta", (("row >= M || col >= N", "row >= N || col >= M"),), "A launch stops"),
    ],
)
def test_what_is_not_so_is_not_said(name, changes, false):
    exercise = exercises.get(name)
    source = exercise.solved
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    verdict = exercise.check(source)
    assert not verdict.passed and false not in verdict.sentence, verdict.sentence


@pytest.mark.parametrize(
    ("name", "begins"),
    [("room_at_launch", "blockIdx.y * T"), ("room_at_launch", "blockIdx.x * T"), ("turned", "blockIdx.y * BM")],
)
def test_blocks_that_begin_at_the_other_size_are_refused(name, begins):
    exercise, other = exercises.get(name), "M" if ".x" in begins else "N"
    assert not exercise.check(exercise.solved.replace(begins, f"{begins[:10]} * {other}")).passed


def test_what_no_thread_stores_is_named_in_the_tile():
    exercise = exercises.get("unmerged_lanes")
    verdict = exercise.check(exercise.solved.replace("lane_y * TM", "lane_y * TN"))
    assert "In every tile of C no thread stores rows 20 to 31 and 52 to 63" in verdict.sentence, verdict.sentence


TREE = """
extern "C" __global__ void block_sums(int n, const float *x, float *parts) {
    __shared__ float s[128];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();  // first
    for (int half = 64; half > 0; half = half / 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();  // second
    }
    if (t == 0) parts[blockIdx.x] = s[0];
}
"""


def test_a_race_in_a_tree_is_not_explained_by_another_round():
    sentence = exercises.get("block_tree").check(TREE.replace("    __syncthreads();  // first\n", "")).sentence
    assert "\nWhy: With __syncthreads(); behind line 5 the kernel is right.\n" in sentence, sentence
    assert sentence.count("Why") == 1 and "Put __syncthreads()" not in sentence


def test_an_element_that_has_nothing_of_an_input_is_counted():
    assert contents._counts(lambda values: 0.0, (5, 3), 0, 1.0, 0).tolist() == [0] * 5
    assert contents._counts(lambda values: values[2, 0], (5, 3), 0, 1.0, 1).tolist() == [0, 0, 1, 0, 0]


def test_a_length_of_several_factors_is_not_named():
    assert reasons._row_and_column("(y + 1) * N + x") == ("y + 1", "N", "x")
    assert reasons._row_and_column("lane / L * 3 * L + lane % L") is None


def test_a_loop_without_its_barrier_is_named():
    sentence = exercises.get("block_tree").check(TREE.replace("__syncthreads();  // second", "")).sentence
    assert "Why: With __syncthreads(); behind line 8 the kernel is right." in sentence, sentence


def test_a_pointer_is_not_an_access_before_its_condition():
    wide = exercises.get("wide")
    assert "to[j] = sums[i][j]" in wide.solved
    sentence = wide.check(wide.solved.replace("to[j] = sums[i][j]", "to[i] = sums[i][j]")).sentence
    assert "float *to = &C[" in sentence and "With the same condition" not in sentence, sentence


def test_the_due_head_of_a_kernel_is_said_without_its_comments():
    exercise = exercises.get("two_buffers")
    sentence = exercise.check(exercise.solved.replace("const float *B", "const double *B")).sentence
    assert "const float *A, const float *B, float beta, float *C): keep the head" in sentence, sentence


def test_lanes_may_return_before_a_vote_of_all():
    exercise, vote = exercises.get("keep_positive"), "        const unsigned votes"
    assert vote in exercise.solved
    assert exercise.check(exercise.solved.replace(vote, f"        if (first + lane >= n) return;\n{vote}")).passed


def test_comparisons_as_in_python_are_named_with_all_their_lines():
    said = text_slips.explanation("x = 0 <= row < M;\ny = 1 < 2;\nif (0 <= col < N) y = 0;\n")
    assert said.startswith("Lines 1 and 3 have comparisons such as 0 <= row < M. ")


def test_an_unwritten_tile_is_not_the_barriers_fault():
    barriers = exercises.get("barriers")
    early = barriers.solved.replace("    float acc", "    if (row >= M || col >= N) return;\n    float acc")
    early = early.replace("row < M && k0", "k0").replace("< K && col < N", "< K")
    sentence = barriers.check(early).sentence
    assert "which no thread has written" in sentence and "CUDA's rules" not in sentence
    assert "the threads with x = 5 to 15 of block (1, 0) have left before a barrier." in sentence


def test_tiles_of_half_are_refused():
    deep = exercises.get("deep_tiles")
    source = "#include <cuda_fp16.h>\n" + deep.solved.replace("__shared__ float", "__shared__ __half")
    source = source.replace("As[y][k] * Bs[k][x]", "__half2float(As[y][k]) * __half2float(Bs[k][x])")
    verdict = deep.check(source)
    assert not verdict.passed and "It rounds floats to numbers of 16 bits" in verdict.sentence


def test_a_kernel_without_tiles_is_told_so():
    barriers = exercises.get("barriers")
    plain = re.sub(
        r"    for \(int k0.*?\n    }\n",
        "    for (int k = 0; k < K; ++k)\n        if (row < M && col < N) acc += A[row * K + k] * B[k * N + col];\n",
        barriers.solved, count=1, flags=re.DOTALL,
    )  # fmt: skip
    verdict = barriers.check(plain)
    assert verdict.passed and "never reads shared memory, and the course's solution does." in verdict.sentence


def test_a_thread_that_loads_the_tiles_alone_is_named():
    tiled = exercises.get("tiled")
    a, b = re.findall(r"\n\s+[AB]s\[y\]\[x\] = [^;]+;", tiled.solved)
    alone = (a + b).replace("[y][x]", "[i][j]").replace("row", "(blockIdx.y * T + i)").replace("+ x", "+ j")
    alone = alone.replace("+ y", "+ i").replace("col", "(blockIdx.x * T + j)")
    loops = f"if (x + y == 0) for (int i = 0; i < T; ++i) for (int j = 0; j < T; ++j) {{{alone} }}"
    verdict = tiled.check(tiled.solved.replace(b, "").replace(a, f"\n{loops}"))
    assert verdict.passed and "loads up to 1\u202f024\u00a0numbers" in verdict.sentence, verdict.sentence


def test_a_return_is_no_reason_for_what_was_never_stored():
    leaves = TREE.replace("    s[t] = i < n", "    if (i >= n) return;\n    s[t] = i < n")
    sentence = exercises.get("block_tree").check(leaves).sentence
    assert "which no thread has written" in sentence and "CUDA's rules" not in sentence, sentence


def test_a_launch_that_ended_is_not_said_to_have_stopped():
    votes = exercises.get("keep_positive").solved.replace("v > 0.0f", "!(v < 0.0f)")
    sentence = exercises.get("keep_positive").check(votes).sentence
    assert "y[1] is 0, expected" in sentence and "In the launches that run to their end exactly" in sentence, sentence


def test_who_happens_to_be_here_is_no_vote():
    exercise = exercises.get("keep_positive")
    solved = exercise.solved
    start, stop = solved.index("        const unsigned votes"), solved.index("        kept +=")
    branch = """        const unsigned votes = __ballot_sync(FULL, v > 0.0f);
        if (v > 0.0f) y[kept + __popc(__activemask() & ((1u << lane) - 1))] = v;
"""
    verdict = exercise.check(solved[:start] + branch + solved[stop:])
    assert not verdict.passed and "__activemask() stands under `v > 0.0f` in line" in verdict.sentence


def test_a_barrier_orders_no_stores_of_threads_that_ended():
    leaves = "    if (t >= 64) return;\n"
    tree = exercises.get("block_tree")
    assert tree.check(TREE.replace("// first\n", "\n" + leaves)).passed
    verdict = tree.check(TREE.replace("    __syncthreads();  // first\n", leaves + "    __syncthreads();\n"))
    assert not verdict.passed and "threads 64 to 127 of block (0, 0) have left before a barrier" in verdict.sentence
    assert "does not order what the others stored in s in front of that line" in verdict.sentence


def test_two_stores_that_meet_are_not_answered_by_a_barrier():
    exercise = exercises.get("two_groups")
    verdict = exercise.check(exercise.solved.replace("tile_col + right + j] =", "tile_col + left + j + 4] ="))
    assert "race in global memory" in verdict.sentence
    assert "Put __syncthreads()" not in verdict.sentence and "atomicAdd" not in verdict.sentence


def test_nan_that_was_written_is_not_called_unwritten():
    exercise = exercises.get("naive")
    verdict = exercise.check(exercise.solved.replace("C[row * N + col] =", "C[row * N + col] +="))
    assert "is NaN" in verdict.sentence and "wrote it" in verdict.sentence
    assert "no thread wrote" not in verdict.picture.caption


def test_a_reason_stands_before_who_races_behind_what_happened():
    exercise = exercises.get("naive")
    lines = exercise.check(exercise.solved.replace("C[row * N + col]", "C[row * M + col]")).sentence.splitlines()
    assert lines[0].startswith("M = ") and "race in global memory" in lines[1]
    assert lines[2].startswith("Why: C is written as if its rows were M elements long")
    assert lines[3].startswith("  line ")


def test_picture_of_another_launch_than_the_failed_is_not_drawn():
    scale, barriers = exercises.get("scale"), exercises.get("barriers")
    assert scale.check(scale.solved.replace("blockIdx.x * blockDim.x", "blockIdx.x * 16")).alone
    assert not scale.check().alone and not scale.check(scale.solved).alone
    late = barriers.solved.replace(
        "Bs[k][x];\n        __syncthreads();\n    }", "Bs[k][x];\n    }\n    __syncthreads();"
    )
    assert late != barriers.solved and not barriers.check(late).alone  # there the picture is of the race


def test_a_length_is_named_only_where_the_text_has_it():
    exercise = exercises.get("room_at_launch")  # in the case that fails first, M is T
    verdict = exercise.check(exercise.solved.replace("B[(k0 + y) * N + col]", "B[(k0 + y) * T + col]"))
    assert "rows were M" not in verdict.sentence and "`B[(k0 + y) * N + col]` in its place" in verdict.sentence


def test_names_that_changed_places_get_one_advice():
    exercise = exercises.get("coalesced")
    row, col = (f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}" for axis in "yx")
    source = exercise.solved.replace(row, "·").replace(col, row).replace("·", col)
    sentence = exercise.check(source.replace("C[row * N + col]", "C[col * N + row]")).sentence
    assert "row and col have changed places" in sentence
    assert "`row` is 16, and A has 16\u00a0rows, 0 to 15.\n" in sentence, sentence


def test_no_common_difference_is_said_where_some_are_kept():
    problem = SimpleNamespace(output="C", prepare=lambda case: SimpleNamespace(grid=(2,)))

    def said(due, output):
        outcome = SimpleNamespace(expected=due, output=output, case=None, report=SimpleNamespace(findings=()))
        return overall.factor_or_constant(
            SimpleNamespace(problem=problem, examination=SimpleNamespace(outcomes=[outcome]))
        )

    due = np.arange(24.0)
    kept = np.where(due % 4 == 3, np.nan, due)
    assert said(due, due + 2) == "Every element of C is 2 more than it should be."
    assert said(kept, due + 2) == said(kept, np.where(np.isnan(kept), 0.0, due)) == ""


def test_rounded_results_are_told_from_wrong_ones():
    exercise = exercises.get("beta")
    old = "beta != 0.0f ? beta * C[row * N + col] / alpha : 0.0f"
    source = exercise.solved.replace("float sum = 0.0f", f"float sum = {old}").replace(" + beta * old", "")
    sentence = exercise.check(source).sentence
    assert "Clue: Every element of C is right but for its last digits." in sentence
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "/ alpha" in text)
    assert sentence.endswith(f"Line {line} divides by alpha; where alpha is 0, that gives no number.")
    assert "last digits" not in exercise.check(source.replace("/ alpha", "* 1.001f / alpha")).sentence


def test_0_is_the_value_of_no_element_in_particular():
    expected = np.where(np.arange(64) % 4 == 3, 0.0, np.arange(1.0, 65)).reshape(8, 8)

    def said(output):
        failure = SimpleNamespace(
            output=output, expected=expected, wrong=output != expected, report=SimpleNamespace(findings=())
        )
        return reasons.of_another_element(
            SimpleNamespace(failure=failure, problem=SimpleNamespace(output="C", index=lambda cell: cell))
        )

    assert said(np.where(expected % 4 == 1, 0.0, expected)) == ""
    expected[expected == 0] = np.arange(65, 81)
    expected[6, 3] = 0
    assert said(np.zeros((8, 8))) == ""
    turned = expected.T.copy()
    assert said(np.where(expected * turned > 0, turned, expected)).startswith(
        "C[0, 1] holds the number that is right for C[1, 0]"
    )


@pytest.mark.parametrize(
    ("exercise", "before", "after", "false", "reason"),
    [
        ("beta", "C[row * N + col] = ", "C[row * N + col + 1] = ", "counts the rows", "`col + 1` is 32"),
        ("beta", "k * N + col]", "k * N + col + 1]", "counts the rows", "`col + 1` is 32, and a row of B has 32"),
        ("beta", "row >= M || col >= N", "row < 0", "it sends home", "`row` is 11, and A has 11\u00a0rows"),
        ("beta", "C[row * N + col] = ", "C[N + col] = ", "The sum itself", "with `C[row * N + col]` in its place"),
        ("swizzle", "        __syncthreads();\n\n", "\n", "place(i % BK, i / BK)` is", "behind line 31"),
        ("next_tile", "Bs[1 - now][y][x] = ", "Bs[1 - now][y][x] += ", "Block (0, 0) stores", "Line 31 changes"),
        ("shares", "next += ", "next = ", "never moves on", "gets to the end of the share"),
        ("argmin", "if (w < v || (w == v && from < place)) ", "", "is full of 0", "at[0] is 127, expected 82"),
        ("scale", "c * A[index]", "c * A[index] + threadIdx.y + 1", "which is 0", "1 more than it should be"),
        ("add_scaled", "+ B[index]", "+ A[gridDim.x * blockDim.x]", "own element", "is 1024 in every thread"),
        ("naive", "int k = 0; k", "int i = 0; i < 0; ++i) {}\nfor (int k = 1; k", "never entered", "k = 0, is"),
        (
            "beta",
            "if (row >= M || col >= N) return;",
            "if (K > 1000) { if (row >= 1) return; }\n    if (row >= M || col >= N || col == 3) return;",
            "`row >= 1`",
            "`row >= M || col >= N || col == 3` in line 10 holds, so it returns",
        ),
        (
            "add_scaled",
            "if (index < N) C[index] = c * A[index] + B[index]",
            "for (int i = 0; i < N; ++i) if (i == index) C[i] = c * A[i] - B[i]",
            "needs no loop",
            "B is subtracted",
        ),
        (
            "scale",
            "const int index = blockIdx.x * blockDim.x + threadIdx.x",
            "auto block = blockIdx;\n    const int index = block.x * blockDim.x + threadIdx.x + 1",
            "does not ask for",
            "B[0] was not written",
        ),
        (
            "rows_and_columns",
            "if (row < M && col < N) B[row * N + col] = alpha * A[row * N + col]",
            "B[col * M + row] = alpha * A[col * M + row]",
            "multiplies by",
            "outside the arrays",
        ),
        (
            "rows_and_columns",
            "const int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
            "    const int col = blockIdx.x * blockDim.x + threadIdx.x;\n    if (row < M && col < N)",
            "const int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    for (int row = threadIdx.y; row < M; row += blockDim.y) if (col < N - 1)",
            "does not ask for",
            "B[0, 15] was not written",
        ),
        (
            "rows_and_columns",
            "if (row < M && col < N) B[row * N + col] = alpha * A[row * N + col]",
            "float *to = &B[row * N];\n    if (col > 3 && row < M && col < N) to[col] = alpha * A[row * N + col];\n"
            "    if (row + 1 < M && col == 3) B[row * N + col + N] = alpha",
            "No thread's index",
            "B[0, 0] was not written",
        ),
        ("tiled", "y = threadIdx.y;", "y = threadIdx.z;", "is that of C[1, 0]", "with `const int x = threadIdx.x, y ="),
    ],
)  # fmt: skip
def test_no_reason_is_false_of_this_kernel(exercise, before, after, false, reason):
    exercise = exercises.get(exercise)
    assert before in exercise.solved
    sentence = exercise.check(exercise.solved.replace(before, after)).sentence
    assert false not in sentence and reason in sentence, sentence


def test_what_threads_add_together_is_not_to_be_replaced():
    exercise = exercises.get("naive")
    verdict = exercise.check(exercise.solved.replace("C[row * N + col] = sum", "atomicAdd(&C[row * N + col], sum)"))
    assert "adds to C, and before the launch C is NaN.\n" in verdict.sentence + "\n"


def test_a_slip_known_by_its_numbers_alone_is_said_of_the_slip():
    naive, store = exercises.get("naive"), "C[row * N + col] = sum"
    skips = "float all = 0.0f; for (int j = 0; j < K; ++j) if (j) all += A[row * K + j] * B[j * N + col];"
    others = naive.check(naive.solved.replace(store, f"{skips} {store.replace('sum', 'all')}")).sentence
    own = naive.check(naive.solved.replace("k = 0", "k = 1")).sentence
    because = "The first product, k = 0, is missing: the loop over k begins one step too late."
    assert f"\nClue: Exactly the same happens with a known slip. The answer to it is: “{because}”" in others
    assert f"\nWhy: {because}" in own


def test_a_slip_seen_in_some_launches_is_said_of_those():
    beta, guard = exercises.get("beta"), "if (row >= M || col >= N) return;"
    sentence = beta.check(beta.solved.replace(guard, "").replace("alpha * sum", "sum")).sentence
    ended = "\nClue: In the launches that run to their end exactly the same happens with a known slip."
    assert f"{ended} The answer to it is: “alpha" in sentence
    slip = (
        "In the launches that run to their end exactly the same happens with a known slip. The answer to it is: “alpha"
    )
    assert f"\nClue: {slip}" in sentence
    both = beta.solved.replace("old = C[row * N + col]", "old = C[row * N + col + 1]")
    assert "beta multiplies" not in beta.check(both.replace("alpha * sum +", "alpha *")).sentence  # all of them are 0


def test_reason_speaks_of_the_slip_where_the_names_are_exchanged():
    named = exercises.get("naive").solved.replace("A[row * K + k]", "A[row * K + col]")
    same = exercises.get("naive").check(named).sentence
    assert "\nWhy: A is read in column col." in same
    exchanged = re.sub(r"\b(?:row|col)\b", lambda name: {"row": "col", "col": "row"}[name[0]], named)
    other = exercises.get("naive").check(exchanged).sentence
    assert "happens with a known slip. The answer to it is: “A is read in column col." in other


@pytest.mark.parametrize("mask", ["mask = __ballot_sync(mask, lane < 16);", "if (lane >= 16) return;"])
def test_lanes_that_are_not_named_or_have_ended_need_not_come(mask):
    tree = exercises.get("warp_tree")
    first = (
        f"unsigned mask = 0xffffffffu;\n    v += __shfl_down_sync(FULL, v, 16);\n    {mask}\n    if (lane < 16) {{\n"
    )
    source = tree.solved.replace("    for (int", f"    {first}    for (int").replace("offset = 16", "offset = 8")
    verdict = tree.check(source.replace("(FULL, v, offset);", "(mask, v, offset);\n    }"))
    assert verdict.passed, verdict.sentence


def test_blocks_that_all_compute_every_row_need_no_number():
    flat = exercises.get("flat_block")
    source = flat.solved.replace("const int row = blockIdx.y * 8 + y;", "")
    source = source.replace(
        "    if (row >= M || col >= N) return;", "    for (int row = y; row < M - 1 && col < N; row += 8) {"
    )
    source = source.replace("acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);", "acc;\n    }")
    sentence = flat.check(source).sentence
    assert "does not occur" not in sentence and "C[7, 0] was not written" in sentence, sentence


def test_a_return_from_a_lambda_leaves_no_barrier_behind():
    barriers = exercises.get("barriers")
    load = "        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;"
    assert load in barriers.solved
    inside = "if (k0 + y >= K || col >= N) return;\n            Bs[y][x] = B[(k0 + y) * N + col];"
    lambda_ = (
        f"        Bs[y][x] = 0.0f;\n        auto load = [&] {{\n            {inside}\n        }};\n        load();"
    )
    verdict = barriers.check(barriers.solved.replace(load, lambda_))
    assert verdict.passed, verdict.sentence


def test_a_row_that_is_not_stored_is_no_reason_for_a_race():
    beta = exercises.get("beta")
    source = beta.solved.replace("row >= M ||", "row >= M - 1 ||").replace("    C[row", "    if (C[0] != 5.0f) C[row")
    sentence = beta.check(source).sentence
    assert "race in global memory" in sentence and "no thread stores" not in sentence, sentence
