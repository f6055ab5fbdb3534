"""Notebook 08: what its prose says of float4 is what the counters, the recordings and the alignment say."""

import re

import pytest

from helpers.analysis.vector_width import WIDTHS, Copy, way_of
from tests.notebooks.support import answered, counters, gain, linked_terms

GUARDED_LOOP = '''my_loop = """    if (K % 4 == 0)
        for (; k < K; k += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(&a[k]);
            acc += v.x * B[k * N + col] + v.y * B[(k + 1) * N + col];
            acc += v.z * B[(k + 2) * N + col] + v.w * B[(k + 3) * N + col];
        }
    for (; k < K; ++k) acc += a[k] * B[k * N + col];'''
VECTOR_STORE = """    if (N % 4 == 0) {
        float4 old = {};
        if (beta != 0.0f) old = *reinterpret_cast<float4 *>(c);
        *reinterpret_cast<float4 *>(c) = {alpha * acc[0] + beta * old.x, alpha * acc[1] + beta * old.y,
                                          alpha * acc[2] + beta * old.z, alpha * acc[3] + beta * old.w};
    } else
    for (int x = 0;"""


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"vector load", "aligned"}
    assert terms <= linked_terms("08")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("aligned_rows", re.compile(r'my_loop = """.*?\n    }', re.DOTALL), GUARDED_LOOP),
        ("vector_store", re.compile(r"    for \(int x = 0;"), VECTOR_STORE),
    ],
)
def test_what_a_learner_writes_in_the_cell_of_an_exercise_reaches_its_check(name, before, after):
    assert answered("08", f"{name}.check", before, after).passed


def test_float4_pays_at_every_aligned_size_and_less_or_not_beside_it():
    for aligned, beside in ((1024, 1023), (2048, 2049), (4096, 4095)):
        assert gain("vectorized", "interleaved", aligned) > max(0, gain("vectorized", "interleaved", beside))


def test_only_sectors_of_c_fall():
    before, after = counters("interleaved"), counters("vectorized")
    requests, sectors = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_st.sum" for what in ("requests", "sectors"))
    assert before[requests] == 4 * after[requests] and before[sectors] == 4 * after[sectors]


def test_float4_and_float2_are_refused_where_the_answers_say():
    four, two = WIDTHS[3], WIDTHS[2]
    for stride in (128, 129, 130, 132):
        refused = {row: bool(way_of(four, Copy(stride, row)).refused) for row in (1, 2)}
        assert refused == {1: stride % 4 != 0, 2: stride % 2 != 0}
        assert bool(way_of(two, Copy(stride, 1)).refused) == (stride % 2 != 0)
