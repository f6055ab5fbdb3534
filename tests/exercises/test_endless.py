"""A launch that does not end is explained by its loops: one that changes nothing, or two that go over all of C."""

from types import SimpleNamespace

import pytest

from gpusim.errors import StepLimitExceeded
from helpers import exercises
from helpers.exercises.framework import endless, feedback

NAIVE = exercises.get("naive")


def said(text: str, error: Exception | None = None, line: int = 1) -> str:
    failure = SimpleNamespace(error=error or StepLimitExceeded("still running", line=line + text.startswith("\n")))
    return endless.explained(SimpleNamespace(text=text, failure=failure, problem=NAIVE.problem))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("\nfor (int k = 0; k < K; ) s += a[k];", "Line 2 has for (int k = 0; k < K;): nothing in the loop changes k"),
        ("for (int k = 0; k < K; k + 1) s += a[k];", "`k + 1` is a number that is stored nowhere."),
        ("for (int k = 0; k < T; ++k0) s += a[k];", "nothing in the loop changes k, so it never ends."),
        ("while (k < K) s += a[k];", "nothing in the loop changes k, so it never ends."),
        ("int k = 0; while (K > (int)k) s += a[k];", "nothing in the loop changes k, so it never ends."),
        ("while (half > 0) { s += a[half]; }", "nothing in the loop changes half, so it never ends."),
        ("for (int k0 = 0; k0 < K; k0 + T) { for (int k = 0; k < T; ++k) s += k0; }", "nothing in the loop changes k0"),
    ],
)
def test_a_loop_that_changes_nothing_is_named(text, named):
    assert named in said(text)


@pytest.mark.parametrize(
    "text",
    ["while (*flag == 0) s += 1;", "while (flag[0] == 0) s += 1;", "while (atomicCAS(lock, 0, 1)) s += 1;",
     "while (k < K) { if (s) break; }", "for (int half = 64; half > 0; half /= 2) s += half;",
     "while (n-- > 0) s += 1;", "while (k < K) next(&k);",
     "for (int k = 0; k < K;) { s += a[k]; k += 2; }", "while (true) s += 1;",
     "auto next = [&] { ++k; }; while (k < K) next();", "int &i = k; while (k < K) ++i;", "while (k < K) next(k);",
     "while (s.k < K) s.k += 1;", "do { k *= 2; } while (k < K);", "while (k < K) (k)++;",
     "auto next = [&](int d) -> void { k += d; }; while (k < K) next(1);",
     "__shared__ int done; while (!done) s += 1;"],
)  # fmt: skip
def test_a_loop_that_may_end_is_not_accused(text):
    assert said(text) == ""


def test_a_macro_may_change_what_a_loop_asks():
    assert said("#define NEXT ++k\nwhile (k < K) NEXT;", line=2) == ""


def test_a_loop_in_which_no_thread_was_is_not_named():
    text = "while (again) s += 1;\nfor (int k = 0; k < K; k += 0) s += 1;"
    assert said(text, line=2) == "" and "changes again" in said(text)


@pytest.mark.parametrize(
    ("step", "reason"),
    [("++k", "The loops in lines 11 and 12 go over all rows and all columns"),
     ("k *= 2", "Does the loop end?"), ("", "nothing in the loop changes k, so it never ends.")],
)  # fmt: skip
def test_loops_over_rows_and_columns_are_the_work_of_all_threads(step, reason):
    beta = exercises.get("beta")
    source = beta.solved.replace("k < K; ++k", f"k < K; {step}").replace("beta * old;", "beta * old; }")
    source = source.replace("    if (row >= M || col >= N) return;\n", "")
    source = source.replace("    const int row = blockIdx.x * blockDim.x + threadIdx.x;", "")
    source = source.replace("    const int col = blockIdx.y * blockDim.y + threadIdx.y;", "")
    loops = "for (int row = 0; row < M; ++row)\n    for (int col = 0; col < N; ++col) {\n    float sum"
    assert reason in beta.check(source.replace("float sum", loops)).sentence


def test_a_learner_is_not_advised_on_the_launch_of_the_check():
    advice = "Does the loop end? If the work is really that long, use a smaller problem, or "
    error = StepLimitExceeded(
        f"k: still running.\n  line 2: while (f()) {{\n{advice}gpusim.record(max_instructions=…)."
    )
    without = feedback._stopped(error, explained=False)
    assert without.endswith(f"\nDoes the loop end?{feedback.MUCH_WORK}") and "max_instructions" not in without
    assert feedback._stopped(error, explained=True) == "k: still running.\n  line 2: while (f()) {"


def test_the_work_of_a_whole_row_is_remarked_and_not_predicted():
    loop = "for (int col = 0; col < N; ++col) {\n        float sum = 0.0f;"
    source = NAIVE.solved.replace("const int col = blockIdx.y * blockDim.y + threadIdx.y;", "")
    source = source.replace("float sum = 0.0f;", loop).replace("= sum;", "= sum;\n    }")
    verdict = NAIVE.check(source)
    assert verdict.passed and "times the instructions of the course's solution" in verdict.sentence
    assert "predicted for" not in verdict.sentence


def test_one_thread_that_does_the_work_of_many_is_remarked():
    scale = exercises.get("scale")
    alone = "for (int i = 0; i < N && index == 0; ++i) B[i] = c * A[i]"
    verdict = scale.check(scale.solved.replace("if (index < N) B[index] = c * A[index]", alone))
    assert verdict.passed and "stores up to 40\u00a0numbers" in verdict.sentence
    assert "stores up to" not in scale.check(scale.solved).sentence


def test_a_kernel_without_its_plain_name_is_remarked():
    scale = exercises.get("scale")
    verdict = scale.check(scale.solved.replace('extern "C" ', ""))
    assert verdict.passed and "CuPy does not find it" in verdict.sentence
