"""Variables that are read before they are set are found where the compiler keeps them in registers, and right kernels
that leave a variable unset for a while are not stopped."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.checks import undefined_values

F = np.float32
HEAD = "#include <mma.h>\nusing namespace nvcuda;"
FRAGMENTS = """
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::load_matrix_sync(a, halves, 16);
    wmma::load_matrix_sync(b, halves, 16);
    FILL
    wmma::mma_sync(sums, a, b, sums);
    wmma::store_matrix_sync(y, sums, 16, wmma::mem_row_major);"""
# name: (body, the variable that the message names, where it is certain, the sentence that says what to write)
WRONG = {
    "a sum in a loop": (
        "    float sum;\n    for (int i = 0; i < n; ++i) sum += x[i] * x[t];\n    y[t] = sum;", "sum", "float sum = 0;"
    ),
    "a sum of a few": (
        "    float sum;\n#pragma unroll\n    for (int i = 0; i < 4; ++i)\n        sum += x[i] * x[t];\n    y[t] = sum;",
        "sum", "float sum = 0;",
    ),
    "a largest number": (
        "    int most;\n    for (int i = 0; i < n; ++i) most = max(most, int(x[i]));\n    y[t] = most;",
        "most", "Give it a value",
    ),
    "an array of sums": (
        "    float sums[4][2];\n    for (int i = 0; i < n; ++i)\n        for (int k = 0; k < 8; ++k) "
        "sums[k / 2][k % 2] += x[i] * x[k];\n    for (int k = 0; k < 8; ++k) y[8 * t + k] = sums[k / 2][k % 2];",
        "sums", "float sums[4][2] = {};",
    ),
    "on one way only": (
        "    float v;\n    if (t < n) v = x[t];\n    y[t] = v * 2;", "", "Give each variable its first value",
    ),
    "an accumulator of tensor cores": (FRAGMENTS.replace("FILL", ""), "sums", "wmma::fill_fragment(sums, 0.0f);"),
    "a factor of tensor cores": (
        FRAGMENTS.replace("    wmma::load_matrix_sync(a, halves, 16);\n", "").replace(
            "FILL", "wmma::fill_fragment(sums, 0.0f);"
        ),
        "a", "wmma::load_matrix_sync(a, …);",
    ),
    "a sum in double": (
        "    double sum;\n    for (int i = 0; i < n; ++i) sum += x[i];\n    y[t] = sum;", "sum", "double sum = 0;"
    ),
    "a factor beside a sum that is set": (
        "    float sum, a;\n    sum = 0;\n    for (int i = 0; i < n; ++i) sum += a * x[i];\n    y[t] = sum;",
        "a", "Give it a value",
    ),
    "what decides": (
        "    float best;\n    for (int i = 0; i < n; ++i)\n    "
        "if (x[i] * x[t] > best) { best = x[i] * x[t]; y[t] = i; }",
        "", "Give each variable its first value",
    ),
}  # fmt: skip
# The compiler leaves nothing of an element that an array does not have: bodies in which a function sets the variable
SET_BY_A_FUNCTION = {
    "an array": (
        "    auto zero = [](float *a) { for (int i = 0; i < 4; ++i) a[i] = 0; };\n    float sums[4];\n    zero(sums);\n"
        "    for (int i = 0; i <= 4; ++i) sums[i] += x[i];\n    y[t] = sums[2] + sums[4];"
    ),
    "a sum": (
        "    auto begin = [](float &a) { a = 0; };\n    float sum, two[2] = {1, 2};\n    begin(sum);\n"
        "    sum += two[2] * x[t];\n    y[t] = sum;"
    ),
}  # fmt: skip
# name: (body, what y[t] shall be for n = 20)
RIGHT = {
    "set and used under one condition": (
        "    float v;\n    if (t < n) v = x[t];\n    __syncthreads();\n    if (t < n) y[t] = v * 2;",
        lambda x: np.where(np.arange(32) < 20, 2 * x, 0),
    ),
    "set in the first round": (
        "    float last;\n    for (int i = 0; i < n; ++i) { if (i > 0) y[t] += x[i] - last; last = x[i]; }",
        lambda x: np.full(32, x[19] - x[0]),
    ),
    "set in all cases": (
        "    float v;\n    switch (t % 3) { case 0: v = x[t]; break; case 1: v = 2 * x[t]; break; default: "
        "v = 3 * x[t]; }\n    y[t] = v;",
        lambda x: (np.arange(32) % 3 + 1) * x,
    ),
    "an element that nobody asks for": (
        "    float4 v;\n    v.x = x[t];\n    v.y = v.x + 1;\n    for (int i = 0; i < n; ++i) v.y += x[i];\n"
        "    y[t] = v.y;",
        lambda x: x + 1 + x[:20].sum(),
    ),
    "the rest of a vector": (
        "    float4 v;\n    v.x = x[t]; v.y = 0; v.z = 0;\n    reinterpret_cast<float4 *>(y + 64)[t] = v; y[t] = v.x;",
        lambda x: x,
    ),
    "a pipeline of registers": (
        "    float next, now = x[0], sum = 0;\n    for (int i = 0; i < n; ++i) { if (i + 1 < n) next = x[i + 1];"
        " sum += now; now = next; }\n    y[t] = sum;",
        lambda x: np.full(32, x[:20].sum()),
    ),
    "bytes that do not count": (
        "    const unsigned char *a = reinterpret_cast<const unsigned char *>(x);\n    const unsigned short *w = "
        "reinterpret_cast<const unsigned short *>(x);\n    int sum = 0;\n    for (int k = 0; k < 2; ++k) sum += "
        "a[2 * t + k] * w[k];\n    y[t] = sum;",
        lambda x: x.view(np.uint8)[:64].reshape(32, 2).astype(int) @ x.view(np.uint16)[:2].astype(int),
    ),
    "counted at a barrier": (
        "    const int count = __syncthreads_count(x[t] > 4), any = __syncthreads_or(x[t] > 8);\n"
        "    y[t] = count + any;",
        lambda x: np.full(32, (x > 4).sum()),
    ),
    "a fragment that is filled": (FRAGMENTS.replace("FILL", "wmma::fill_fragment(sums, 0.0f);"), None),
    "not a number on purpose": (
        '    y[t] = t < n ? x[t] : nanf("");', lambda x: np.where(np.arange(32) < 20, x, np.nan)
    ),
}  # fmt: skip


def launched(body: str, level: str, arch: str) -> tuple[np.ndarray, np.ndarray]:
    """(x, y) after a launch."""
    x, y = np.random.default_rng(36).integers(1, 9, 256).astype(F), np.zeros(256, F)
    source = f"""{HEAD if "wmma" in body else "struct half;"}
extern "C" __global__ void k(const float *x, float *y, int n, const half *halves) {{
    const int t = threadIdx.x;
{body}
}}"""
    function = gpusim.RawModule(code=source, arch=arch).get_function("k")
    with gpusim.record(level=level, blocks=()):
        function(1, 32, (x, y, np.int32(20), np.ones(256, np.float16)))
    return x, y


LEVELS = [("sass", "sm_80"), ("sass", "sm_90"), ("ptx", "sm_90"), ("sass", "sm_120")]


@pytest.mark.parametrize(("level", "arch"), LEVELS)
@pytest.mark.parametrize("name", WRONG)
def test_a_variable_that_is_never_set_is_named(name, level, arch):
    body, variable, advice = WRONG[name]
    with pytest.raises(errors.UninitializedRead) as caught:
        launched(body, level, arch)
    (finding,) = caught.value.report.findings
    assert (finding.kind, finding.array) == ("variable that is never set", variable)
    what = f"{variable}, a variable without a first value" if variable else "a value that nothing has set"
    assert what in finding.message and advice in finding.message


@pytest.mark.parametrize("body", SET_BY_A_FUNCTION.values(), ids=SET_BY_A_FUNCTION)
def test_a_variable_that_a_function_sets_is_not_named(body):
    with pytest.raises(errors.UninitializedRead, match="computed from a value that nothing has set") as caught:
        launched(body, "sass", "sm_90")
    assert "read no element that its array does not have" in str(caught.value)


@pytest.mark.parametrize(("level", "arch"), LEVELS)
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_set_before_it_counts_is_no_finding(name, level, arch):
    x, y = launched(RIGHT[name][0], level, arch)
    expected = RIGHT[name][1]
    if expected is not None:
        np.testing.assert_array_equal(y[:32], expected(x[:32]))


def test_constants_for_what_is_never_set_differ_from_nan():
    text = "fma.rn.f32 %f3, %f1, %f2, 0f7FC00000;"
    assert undefined_values.has_folded(text, "float sum; sum += a * b;")
    assert not undefined_values.has_folded(text, "float sum = NAN; sum += a * b;")
    assert not undefined_values.has_folded("mov.f32 %f1, 0f3F800000;", "float sum; sum += a * b;")
