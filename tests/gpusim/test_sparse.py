"""Products of matrices of which half of A is left out: bit for bit as an NVIDIA GPU, and by the definition."""

from functools import cache

import numpy as np
import pytest

import gpusim
from gpusim.errors import UnsupportedInstruction
from tests.gpusim import kernel_launches
from tests.gpusim.goldens import record, sparse
from tests.gpusim.goldens.tensor_core import GROUP, digest
from tests.gpusim.sass_goldens import compare_with_recorded


@cache
def recording():
    return np.load(sparse.RECORDING)


@cache
def module():
    entries = [product.entry for product in sparse.PRODUCTS]
    return gpusim.RawModule(code=sparse.SOURCE, name_expressions=entries, arch=sparse.ARCH)


def multiplied(product, level, a, b, c, places, kernels=module):
    d = np.full_like(c, 0xDEADBEEF)
    with gpusim.record(level=level, checks="off"):
        kernels().get_function(product.entry)((GROUP // 4,), (32, 4), (a, b, c, places, d))
    return d


def groups(product):
    """Five of the groups that were recorded, others for each form, with their numbers and a level."""
    every, first = list(enumerate(sparse.groups())), sparse.PRODUCTS.index(product)
    return [
        (*every[(first + 4 * turn) % len(every)], level) for turn, level in enumerate(("sass", "ptx") * 2 + ("sass",))
    ]


@pytest.mark.parametrize("product", sparse.PRODUCTS, ids=lambda product: product.name)
def test_every_sparse_product_is_bit_for_bit_the_one_of_an_h100(product):
    wrong = []
    for number, (kind, seed), level in groups(product):
        d = multiplied(product, level, *sparse.given(product, kind, seed))
        if np.frombuffer(digest(d), np.uint64)[0] != recording()[f"{product.name}|digests"][number]:
            kept = recording()[f"{product.name}|kept"][number]
            wrong.append(f"{kind}, {level}: {np.argwhere(d[: len(kept)] != kept)[:3].tolist()} of those that are kept")
    assert not wrong, "\n".join(wrong)


def test_every_group_of_forms_is_held_to_its_recording():
    for product in sparse.PRODUCTS:
        digests = recording()[f"{product.name}|digests"]
        assert len(set(digests)) == len(digests) == len(sparse.groups())
    held = {(number, level) for product in sparse.PRODUCTS for number, _, level in groups(product)}
    assert held == {(number, level) for number in range(len(sparse.groups())) for level in ("sass", "ptx")}


@cache
def on_ampere():
    """The products of integers for tensor cores that have numbers of 4 bits, which an H100 unpacks."""
    wholes = [product for product in sparse.PRODUCTS if product.result == "s32"]
    source, entries = "".join(product.source for product in wholes), [product.entry for product in wholes]
    return gpusim.RawModule(code=source, name_expressions=entries, arch="sm_80")


@pytest.mark.parametrize("name", ("m16n8k64 s32 s4 u4 satfinite 1", "m16n8k128 s32 u4 s4 0", "m16n8k32 s32 u8 s8 1"))
def test_sparse_4_bit_integers_agree_where_the_gpu_has_them(name):
    product = next(product for product in sparse.PRODUCTS if product.name == name)
    kind, seed = sparse.groups()[3]
    d = multiplied(product, "sass", *sparse.given(product, kind, seed), on_ampere)
    assert np.frombuffer(digest(d), np.uint64)[0] == recording()[f"{name}|digests"][3]


def test_sparse_sums_of_unknown_tensor_cores_are_not_guessed():
    product = sparse.PRODUCTS[0]
    kernel = gpusim.RawModule(code=product.source, arch="sm_80").get_function(product.entry)
    with pytest.raises(UnsupportedInstruction, match="how the tensor cores of sm_80 add products of sparse matrices"):
        kernel((1,), (32,), (np.zeros(4096, np.uint32),) * 5)


# ---- counters

LAUNCHES = {launch.name: launch for launch in kernel_launches.sparse_products()}
AGAIN = "record again on a GPU, with the commands of tests/gpusim/goldens/record.py and `sparse`"


@cache
def counted() -> dict[str, dict]:
    return {row["name"]: row for row in record.read(record.SPARSE_GOLDENS)["launches"]}


@pytest.mark.parametrize("name", [*LAUNCHES][::3])  # each is compiled by itself
def test_counters_of_sparse_products_are_the_gpus(name):
    assert compare_with_recorded(LAUNCHES[name], counted(), AGAIN).counters > 95


def test_every_form_of_a_sparse_product_was_counted():
    assert [*counted()] == [*LAUNCHES], AGAIN


# ---- by the definition: the matrices that a kernel keeps in memory, and the sum of products that it writes

MULTIPLY = """extern "C" __global__ void kernel(const unsigned *A, const unsigned *B, const unsigned *E, float *C) {
    // A: (16, 16) of f16, what there is of (16, 32); B: (8, 32), its columns; E: (16, 2), 16 bits for half a row
    const int g = threadIdx.x / 4, p = threadIdx.x % 4;
    unsigned a[4] = {A[8 * g + p], A[8 * (g + 8) + p], A[8 * g + p + 4], A[8 * (g + 8) + p + 4]}, b[4];
    for (int i = 0; i < 4; ++i) b[i] = B[16 * g + p + 4 * i];
    unsigned e = p < 2 ? E[2 * g + p] | E[2 * (g + 8) + p] << 16 : 0;
    float c[4] = {};
    asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e));
    for (int i = 0; i < 4; ++i) C[8 * (g + i / 2 * 8) + 2 * p + i % 2] = c[i];
}"""


def test_sparse_pairs_multiply_their_neighbours_of_b(level):
    random = np.random.default_rng(3)
    dense = np.zeros((16, 8, 4))
    pairs = np.array([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)])[random.integers(0, 6, (16, 8))]
    np.put_along_axis(dense, pairs, random.integers(-8, 9, pairs.shape), axis=2)
    A = np.take_along_axis(dense, pairs, axis=2).astype(np.float16).reshape(16, 16).view(np.uint32)
    words = (pairs[..., 0] | pairs[..., 1] << 2).reshape(16, 2, 4) << np.arange(0, 16, 4)
    B = random.integers(-8, 9, (32, 8))
    C = np.zeros((16, 8), np.float32)
    columns = np.ascontiguousarray(B.T.astype(np.float16)).view(np.uint32)
    with gpusim.record(level=level):
        kernel = gpusim.RawModule(code=MULTIPLY, arch="sm_90").get_function("kernel")
        kernel((1,), (32,), (A, columns, words.sum(axis=2).astype(np.uint32), C))
    assert np.array_equal(C, dense.reshape(16, 32) @ B)
