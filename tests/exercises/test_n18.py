"""Notebook 18: what its members must compute, what is counted as right, and what its questions answer."""

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.engine.memory import FIXED
from helpers import gpu, recordings
from helpers.exercises import family, n18, transformer
from helpers.exercises.n18 import members
from helpers.exercises.n18.members import FusedSteps, gelu, packed
from helpers.exercises.transformer import Sizes
from helpers.pictures.tables import Table

SMALL = Sizes(batch=2, tokens=6, width=8, heads=2, hidden=10)


@pytest.mark.parametrize("exercise", n18.EXERCISES, ids=lambda exercise: exercise.name)
def test_a_member_knows_slips_and_shapes_that_stick_out(exercise):
    assert len(exercise.wrong) >= 8
    shapes = [exercise.problem.prepare(case).expected.shape for case in exercise.problem.cases]
    assert any(rows % 16 and columns % 16 for rows, columns in shapes)
    assert any(1 in shape for shape in shapes) or exercise is n18.GROUPED


def test_the_learner_writes_more_than_eighty_lines():
    assert sum(exercise.lines for exercise in n18.EXERCISES) >= 80


@pytest.mark.parametrize("numbers", [[1, -2, 3, -4], [127, -128, 0, 5], [7]])
def test_four_numbers_of_eight_bits_lie_in_an_int(numbers):
    words = packed(np.array([numbers], np.int8), 1)
    assert words.dtype == np.int32 and words.shape == (1, 1)
    assert words.astype("<i4").tobytes() == np.array([numbers + [0] * (4 - len(numbers))], np.int8).tobytes()


def test_gelu_is_a_value_times_the_normal_share_below_it():
    assert gelu(np.array([0.0, 1.0, -1.0])) == pytest.approx([0, 0.8413447460685429, -0.15865525393145707])


def test_a_sum_within_rounding_is_right_and_another_is_not():
    problem = FusedSteps("gemm_gelu", n18.FUSED_STEPS.problem.cases)
    setup = problem.prepare(problem.cases[0])
    C = setup.args[setup.position]
    C[...] = setup.expected * (1 + 3e-7)
    assert (setup.left(setup.args) == setup.expected).all()
    C[0, 0] += 1e-3
    wrong = setup.left(setup.args) != setup.expected
    assert wrong[0, 0] and wrong.sum() == 1


def test_a_rounded_element_is_said_to_be_about_its_number():
    rounder = n18.FUSED_STEPS.solved.replace("0.70710678f", "0.707f")
    assert "C[0, 0] is about 0.88, expected 0.879777." in n18.FUSED_STEPS.check(rounder).sentence


def test_an_element_that_no_thread_wrote_is_not_right():
    setup = n18.FUSED_STEPS.problem.prepare(n18.FUSED_STEPS.problem.cases[0])
    assert np.isnan(setup.left(setup.args)).all()


def test_a_quarter_is_dropped_by_place_and_seed_alone():
    drawn = members.chance(np.arange(40_000), 7)
    assert abs((drawn < 2**30).mean() - 0.25) < 0.01
    assert (members.chance(np.arange(5), 7) == drawn[:5]).all() and (members.chance(np.arange(5), 8) != drawn[:5]).all()
    # by hand: x = 7, x ^= x >> 16, and so on
    x = 7 * 0x7FEB352D % 2**32
    x = (x ^ x >> 15) * 0x846CA68B % 2**32
    assert drawn[0] == x ^ x >> 16


def test_gaps_between_rows_and_products_must_stay():
    for exercise in (n18.TRANSPOSED_OPERAND, n18.BATCH):
        cases = [exercise.problem.prepare(case) for case in exercise.problem.cases]
        assert any(np.isnan(setup.expected).any() for setup in cases)


def test_group_scales_of_one_group_are_column_scales():
    problem, case = n18.GROUP_SCALES.problem, members.cases("M N K", (5, 7, 32))[0]
    setup = problem.prepare(case)
    A, B, scale_a, scale_b = setup.args[3:7]
    numbers = [matrix.astype("<i4").view(np.int8).reshape(len(matrix), -1)[:, :32].astype(float) for matrix in (A, B)]
    assert (setup.expected == numbers[0] @ numbers[1].T * scale_a * scale_b.T).all()


def test_a_convolution_is_the_product_of_its_patches():
    problem, case = n18.IMPLICIT.problem, n18.IMPLICIT.problem.cases[1]
    images, H, W, C, R, S, N, stride, pad = case.sizes.values()
    setup, X = problem.prepare(case), problem.images(case)
    B, direct = setup.args[-2].reshape(R, S, C, N), np.zeros((H, W, N))
    for r in range(R):
        for s in range(S):
            for h in range(max(0, pad - r), min(H, H + pad - r)):
                for w in range(max(0, pad - s), min(W, W + pad - s)):
                    direct[h, w] += X[0, h + r - pad, w + s - pad] @ B[r, s]
    assert (images, stride) == (1, 1) and (setup.expected == direct.reshape(-1, N)).all()


# --- questions


@pytest.mark.parametrize(
    ("answer", "passed"), [(None, None), (2 * 3072 + 5, True), (2 * 1024 + 5, False), (5 * 3072 + 2, False), (7, False)]
)
def test_rows_of_a_view_are_as_far_apart_as_those_of_its_array(answer, passed):
    assert n18.check_place(answer).passed is passed


@pytest.mark.parametrize(("answer", "passed"), [(None, None), (2**27, True), (2**26, False), (2**25, False)])
def test_bytes_of_a_fused_epilogue_are_two_times_c(answer, passed):
    assert n18.check_saved(answer).passed is passed


@pytest.mark.parametrize(("answer", "passed"), [(None, None), (8, True), (6, False), (4, False), (12, False)])
def test_tiles_of_uneven_experts_are_rounded_up_for_each(answer, passed):
    verdict = n18.check_tiles(answer)
    assert verdict.passed is passed
    assert passed is not False or "than that" not in verdict.sentence


def test_predictions_are_answered_by_what_is_counted_or_recorded():
    answers = [prediction().answer for prediction in n18.PREDICTIONS]
    assert answers == [16, "more than 100 times", "about 30 %", "9 times"]


def test_every_table_has_rows():
    tables = (n18.bytes_table, n18.fused_table, n18.grouped_table, n18.convolution_table, n18.formats_table,
              n18.layer_parts, family.small_table, family.layer_table)  # fmt: skip
    for table in tables:
        rows = table()
        assert isinstance(rows, Table) and len(rows.rows) >= 3 and "not recorded" not in rows.caption.lower()


# --- the layer


def test_a_layer_in_float64_is_that_of_plain_loops():
    given = transformer.weights(SMALL)
    X, D = given["X"].astype(np.float64), SMALL.width
    QKV = X @ given["QKV"]
    attention = np.zeros_like(X)
    for text in range(SMALL.batch):
        rows = slice(text * SMALL.tokens, (text + 1) * SMALL.tokens)
        for head in range(SMALL.heads):
            own = slice(head * SMALL.head, (head + 1) * SMALL.head)
            Q, K, V = (QKV[rows, third * D : (third + 1) * D][:, own] for third in range(3))
            powers = np.exp(Q @ K.T / SMALL.head**0.5)
            attention[rows, own] = powers / powers.sum(axis=1, keepdims=True) @ V
    Y = X + attention @ given["output"]
    gate = Y @ given["gate"]
    expected = Y + (gate / (1 + np.exp(-gate)) * (Y @ given["up"])) @ given["down"]
    assert transformer.exact(SMALL, given) == pytest.approx(expected)


def test_views_of_heads_copy_nothing():
    layer = transformer.Layer(SMALL, transformer.weights(SMALL))
    array = layer.made["QKV"]
    array[...] = np.arange(array.size, dtype=np.float32).reshape(array.shape)
    K = layer.heads(array, 1)
    assert K.shape == (2, 2, 6, 4) and K.strides == (6 * 24 * 4, 4 * 4, 24 * 4, 4)
    assert float(K[1, 1, 2, 3]) == float(array[6 + 2, 8 + 4 + 3])


def test_parts_have_the_work_and_the_roof_of_their_shapes():
    by_name = {part.name: part for part in transformer.parts(Sizes())}
    scores = by_name["scores"]
    assert (scores.count, scores.shape, scores.work) == (64, (512, 512, 64), 2 * 64 * 512 * 512 * 64)
    assert scores.bytes == 4 * 64 * (2 * 512 * 64 + 512 * 512)
    assert by_name["up"].bytes - by_name["gate"].bytes == 4 * 2048 * 2816  # the gate is read
    assert scores.roof_ms(60.0, 1.0) == pytest.approx(scores.bytes / 1e6)


class ColumnMajor:
    """cuBLAS on the host's memory, column by column as documented: float32, without transposed second operands."""

    def _bytes(self, address):
        """The device's memory from an address on."""
        array, start = next((a, s) for a, s in FIXED.arrays() if s <= address < s + a.nbytes)
        return np.asarray(array).reshape(-1).view(np.uint8)[address - start :]

    def _matrix(self, address, rows, columns, distance):
        floats = self._bytes(address).view(np.float32)
        return np.lib.stride_tricks.as_strided(floats, (rows, columns), (4, 4 * distance))

    def sgemm(self, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        assert op_b == 0
        A = self._matrix(a, k, m, lda).T if op_a else self._matrix(a, m, k, lda)
        alpha, beta = (ctypes.c_float.from_address(address).value for address in (alpha, beta))
        C, old = self._matrix(c, m, n, ldc), 0
        if beta:
            old = beta * C
        C[...] = alpha * (A @ self._matrix(b, k, n, ldb)) + old

    def sgemmBatched(self, *arguments):
        *shape, alpha, a, lda, b, ldb, beta, c, ldc, count = arguments
        lists = [self._bytes(address).view(np.uint64)[:count].tolist() for address in (a, b, c)]
        for left, right, to in zip(*lists, strict=True):
            self.sgemm(*shape, alpha, left, lda, right, ldb, beta, to, ldc)

    def sgemmStridedBatched(self, *arguments):
        *shape, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count = arguments
        for i in range(count):
            left, right, to = a + 4 * i * step_a, b + 4 * i * step_b, c + 4 * i * step_c
            self.sgemm(*shape, alpha, left, lda, right, ldb, beta, to, ldc)


@pytest.fixture
def cublas_on_host(monkeypatch):
    library = ColumnMajor()
    device = SimpleNamespace(get_cublas_handle=lambda: 0)
    for name, module in (
        ("cupy", SimpleNamespace()), ("cupy.cuda", SimpleNamespace(device=device)),
        ("cupy_backends", SimpleNamespace()), ("cupy_backends.cuda", SimpleNamespace()),
        ("cupy_backends.cuda.libs", SimpleNamespace(cublas=library)),
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.skipif(gpu.backend() == "gpu", reason="stands in for cuBLAS where there is no GPU")
def test_every_way_to_ask_cublas_leaves_the_layer_of_float64(cublas_on_host):
    given = transformer.weights(SMALL)
    layer = transformer.Layer(SMALL, given)
    ways = family.rival_ways(layer)
    assert [len(ways[part]) for part in ("scores", "values", "output")] == [2, 2, 1]
    for number in (0, -1):  # the first way of each part, and the last
        layer.made["Y"][...] = layer.given["X"]
        for part in ways:
            [*ways[part].values()][number]()
        assert gpu.asnumpy(layer.made["Y"]) == pytest.approx(transformer.exact(SMALL, given), abs=1e-4)


@pytest.mark.parametrize("several", [True, False])
def test_the_layer_is_right_with_epilogues_within_and_behind(several):
    given = transformer.weights(SMALL)
    layer = transformer.Layer(SMALL, given, several)
    assert [len(layer.plans[part].launches) for part in ("output", "gate", "up", "down")] == [1 + several] * 4
    assert gpu.asnumpy(layer()) == pytest.approx(transformer.exact(SMALL, given), abs=1e-4)


def test_the_layer_and_its_parts_were_recorded():
    recorded = family.recorded(recordings.shown(family.SUITE))
    assert set(recorded.layer) == {part.name for part in transformer.parts(recorded.sizes)} | {"softmax", family.WHOLE}
    for name in (family.OURS, family.RIVAL):
        times = {part: timings[name].median_ms for part, timings in recorded.layer.items()}
        whole = times.pop(family.WHOLE)
        assert 0.9 < whole / sum(times.values()) < 1.05
    for times in recorded.small.values():
        assert times[family.ONE_LAUNCH].median_ms < times[family.GRAPH].median_ms < times[family.LOOP].median_ms
