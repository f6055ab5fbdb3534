"""A small change that makes a wrong kernel right: it is said only if it was tried, and few are tried."""

import re

import pytest

from helpers import exercises
from helpers.exercises.framework.exercise import KernelExercise
from helpers.exercises.framework.repairs import MOST, code, explained, with_names_of

KERNELS = [exercise for exercise in exercises.EXERCISES if isinstance(exercise, KernelExercise)]

SOLUTION = """
__shared__ float As[T][T];
const int row = blockIdx.y * T + threadIdx.y;
As[y][x] = A[row * K + k0 + x];
__syncthreads();
sum += As[y][k];
__syncthreads();
"""


def said(source, *right):
    """What is said of a source, if these texts must be in a right one, once each."""
    return explained(source, SOLUTION, lambda text: all(text.count(word) == 1 for word in right))


def test_a_line_like_one_of_the_solution_is_made_that_one():
    wrong = SOLUTION.replace("As[y][k]", "As[k][y]")
    assert said(wrong, "sum += As[y][k];") == "In line 6, `As[k][y]`: with `As[y][k]` in its place the kernel is right."


def test_two_wrong_lines_are_changed_together():
    wrong = SOLUTION.replace("As[y][k]", "As[k][y]").replace("A[row * K + k0 + x]", "A[row * K + x]")
    sentence = said(wrong, "sum += As[y][k];", "A[row * K + k0 + x]")
    assert "`A[row * K + k0 + x]` for `A[row * K + x]`" in sentence and "in lines 4 and 6" in sentence


def test_a_loops_variable_is_scaled_as_in_another_line():
    tiled = exercises.get("tiled")
    counted = tiled.solved.replace("(int k0 = 0; k0 < K; k0 += T)", "(int t = 0; t < K / T; ++t)")
    for scaled in ("t * T", "T * t"):
        right = counted.replace("K + k0 + x", f"K + {scaled} + x").replace("k0 + y", f"{scaled} + y")
        for due, wrong in (
            (f"A[row * K + {scaled} + x]", "A[row * K + t + x]"),
            (f"B[({scaled} + y) * N + col]", "B[(t + y) * N + col]"),
        ):
            sentence = explained(right.replace(due, wrong), tiled.solved, lambda text, right=right: text == right)
            assert sentence.endswith(f"`{wrong}`: with `{due}` in its place the kernel is right.")


def test_of_two_changed_lines_the_wrong_one_is_named():
    wrong = SOLUTION.replace("As[y][k]", "As[k][y]").replace("A[row * K + k0 + x]", "A[row * K + x]")
    passes = lambda text: text == SOLUTION  # noqa: E731
    sentence = explained(wrong, SOLUTION, passes, computes=lambda text: "sum += As[y][k];" in text)
    assert sentence == "In line 6, `As[k][y]`: with `As[y][k]` in its place the kernel is right."
    assert "in lines 4 and 6" in explained(wrong, SOLUTION, passes)


def test_a_body_is_not_left_out_for_the_next_statement():
    wrong = SOLUTION.replace("sum +=", "if (row < 64)\n    sum = 1.0f;\nsum +=")
    passes = lambda text: "sum = 1.0f" not in text  # noqa: E731
    assert explained(wrong, SOLUTION, passes) == ""
    braced = wrong.replace("64)\n    sum = 1.0f;", "64) {\n    sum = 1.0f;\n}")
    assert explained(braced, SOLUTION, passes) == "Without line 7, `sum = 1.0f;`, the kernel is right."


def test_a_size_is_not_chosen_where_others_are_the_same_number():
    solution = "#define BM 32\n#define BN 32\nconst int a = y * BM + z * BN + k * K;\n"
    wrong = "#define BM 32\n#define BN 32\nint first_row_of_my_block = threadIdx.y * N;\n"
    assert explained(wrong, solution, lambda text: "* BM;" in text or "* BN;" in text) == ""
    assert "* BM;`" in explained(wrong, solution.replace("BN 32", "BN 64"), lambda text: "* BM;" in text)


def test_names_of_ones_own_are_no_obstacle():
    wrong = SOLUTION.replace("row", "mine").replace("threadIdx.y", "threadIdx.x")
    sentence = said(wrong, "mine = blockIdx.y * T + threadIdx.y;")
    assert sentence.startswith("In line 3, `const int mine = blockIdx.y * T + threadIdx.x;`: with ")


def test_a_right_line_in_names_of_ones_own_is_not_changed():
    wrong = SOLUTION.replace("const int row", "int mine").replace("row", "mine").replace(" + k0", "")
    sentence = said(wrong, "A[mine * K + k0 + x]", "int mine = blockIdx.y * T + threadIdx.y;")
    assert sentence == "In line 4, `A[mine * K + x]`: with `A[mine * K + k0 + x]` in its place the kernel is right."


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_solution_is_read_with_the_names_of_a_source(exercise):
    declared = set(re.findall(r"\b(?:int|unsigned|float|double)\s+(\w+)\s*=[^;]*;", exercise.solved))
    own = re.sub(r"(?<![\w.])\w+", lambda word: f"my_{word[0]}" if word[0] in declared else word[0], exercise.solved)
    read = with_names_of(own.replace("const int", "int"), exercise.solved)
    assert list(map(code, read.splitlines())) == list(map(code, own.splitlines()))


def test_a_missing_barrier_has_its_place():
    wrong = SOLUTION.replace("sum += As[y][k];\n__syncthreads();\n", "sum += As[y][k];\n")
    sentence = said(wrong, "sum += As[y][k];\n__syncthreads();")
    assert sentence == "With __syncthreads(); behind line 6 the kernel is right."


def test_nothing_is_said_if_nothing_passes_and_few_are_tried():
    tried = []
    wrong = SOLUTION.replace("row", "mine").replace("As[y]", "As[x + T * y]")
    assert explained(wrong, SOLUTION, lambda text: tried.append(text) is not None) == ""
    assert 0 < len(tried) == len(set(tried)) <= MOST


def test_a_missing_line_is_tried_below_its_neighbour_first():
    solution = "if (a) {\n    first = 1;\n}\nif (b) {\n    second = 2;\n    third = 3;\n}\n"
    sentence = explained(solution.replace("    third = 3;\n", ""), solution, lambda text: "third" in text)
    assert sentence == "With `third = 3;` in front of line 6 the kernel is right."


def test_a_line_that_is_missing_or_too_many_is_named():
    without = SOLUTION.replace("As[y][x] = A[row * K + k0 + x];\n", "")
    sentence = said(without, "A[row * K + k0 + x];\n__syncthreads();")
    assert sentence == "With `As[y][x] = A[row * K + k0 + x];` in front of line 4 the kernel is right."
    twice = SOLUTION.replace("sum +=", "sum = 0.0f;\nsum +=")
    sentence = explained(twice, SOLUTION, lambda text: "sum = 0.0f" not in text)
    assert sentence == "Without line 6, `sum = 0.0f;`, the kernel is right."


LOOPS = """
__device__ void helper() {
    f();
}
extern "C" __global__ void kernel(int K) {
    auto load = [&](int k) {
        store(k);
    };
    for (int k0 = 0; k0 < K; ++k0) {
        load(k0);
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            a = As[k];
            b = Bs[k];
        }
        __syncthreads();
    }
}
"""


def test_a_missing_barrier_belongs_behind_the_inner_loop():
    wrong = LOOPS.replace("        }\n        __syncthreads();\n", "        }\n")
    tried = []
    explained(wrong, LOOPS, lambda text: tried.append(text) is not None, racing=(13, 7))
    places = [text.splitlines().index("__syncthreads();") for text in tried if "\n__syncthreads();" in text]
    assert 15 in places and not {3, 7, 13, 14} & set(places), "in no function, and not at every k"


def test_a_barrier_and_its_neighbour_are_exchanged():
    wrong = LOOPS.replace("load(k0);\n        __syncthreads();", "__syncthreads();\n        load(k0);")
    sentence = explained(wrong, LOOPS, lambda text: text == LOOPS, racing=(10,))
    assert sentence == "With lines 10 and 11 exchanged, `__syncthreads();` and `load(k0);`, the kernel is right."


def test_no_axis_is_proposed_that_the_solution_does_not_name():
    wrong = SOLUTION.replace("threadIdx.y", "threadIdx.y + blockDim.x / 32")
    assert said(wrong, "threadIdx.y + blockDim.y / 32") == ""
