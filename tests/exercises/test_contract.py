"""What every exercise promises: the starter does not pass, the solution does, and known mistakes are told apart."""

import difflib
import re
import time
from collections import defaultdict
from importlib import import_module

import pytest

from helpers.exercises import EXERCISES, QUESTIONS, get, of_notebook
from helpers.exercises.__main__ import main as command
from helpers.exercises.framework import contract, judge, kept, progress
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank, Plain
from helpers.exercises.framework.exercise import KernelExercise, alike
from helpers.exercises.framework.judge import Examination
from helpers.exercises.framework.text_slips import COMMA_IN_INDEX
from helpers.exercises.framework.values import ValueExercise
from helpers.run import simulated
from tests.exercises.mutants import CAUGHT, UNEXPLAINED

KERNELS = [exercise for exercise in EXERCISES if isinstance(exercise, KernelExercise)]
VALUES = [exercise for exercise in EXERCISES if isinstance(exercise, ValueExercise)]
WRONG_KERNELS = [(kernel, wrong) for kernel in KERNELS for wrong in kernel.wrong]
MUTANTS = [(get(name), *edit) for name, *edit in CAUGHT]
WRONG_VALUES = [(value, wrong) for value in VALUES for wrong in value.wrong]
SECONDS = 16.0  # four times what the slowest takes; the first check of an exercise compiles its known wrong kernels


def named(pair) -> str:
    exercise, wrong = pair
    return f"{exercise.name}-{getattr(wrong, 'version', None) or getattr(wrong, 'answer', '')}"


@pytest.fixture(autouse=True)
def no_progress_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path / "my"))


def examined(exercise: KernelExercise, version: str) -> Examination:
    wrong = next((slip for slip in exercise.wrong if slip.version == version), None)
    return exercise.examine(exercise.wrong_source(wrong) if wrong else exercise.marked.version(version))


def rewritten(source: str) -> str:
    """The same kernel as another learner writes it: more lines, other names, other spaces."""
    for name, other in (
        ("acc", "total"),
        ("As", "tile_of_A"),
        ("Bs", "tile_of_B"),
        ("row", "my_row"),
        ("col", "my_col"),
    ):
        source = re.sub(rf"(?<!\.)\b{name}\b", other, source)  # not the modifiers of PTX, .row and .col
    return "// my own attempt\n\n" + source.replace(";\n", " ;\n\n")


def timed(check) -> Verdict:
    """A check within the promised time, counted in CPU time: other processes of the machine are not its fault."""
    started = time.process_time()
    verdict = check()
    assert time.process_time() - started < SECONDS
    return verdict


def fails_because(exercise: KernelExercise, wrong, source: str) -> None:
    verdict = timed(lambda: exercise.check(source))
    assert verdict.passed is False
    assert f"Why: {wrong.because}" in verdict.sentence.removeprefix("✘ ").splitlines(), verdict.sentence


# --- kernels


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_known_wrong_text_is_known_in_other_names(exercise):
    for wrong in exercise.wrong:
        source = rewritten(exercise.wrong_source(wrong))
        same = [
            slip
            for slip in exercise.wrong
            if exercise._fits(slip, source) and alike(exercise.wrong_source(slip), source)
        ]
        assert same and same[0].because == wrong.because, wrong.version


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_reason_that_quotes_code_is_not_given_for_another_text(exercise):
    for wrong in (slip for slip in exercise.wrong if slip.text):
        assert exercise._fits(wrong, exercise.wrong_source(wrong)), wrong.version
        assert not exercise._fits(wrong, "// <= && wait<0>\n"), wrong.version


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_the_solution_passes_everything(exercise):
    verdict = timed(lambda: exercise.check(rewritten(exercise.solved)))
    assert verdict.passed is True, verdict.sentence
    assert progress.states() == {exercise.name: progress.SOLVED}


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_starter_runs_unfinished_and_is_not_marked_wrong(exercise):
    verdict = timed(exercise.check)
    assert verdict.passed is None
    begins = f"This is {'still ' if isinstance(exercise, Blank) else ''}the kernel that the exercise begins with"
    assert verdict.sentence.startswith(begins)
    assert examined(exercise, "starter").kernel is not None
    assert progress.states() == {}


@pytest.mark.parametrize("exercise", [kernel for kernel in KERNELS if kernel.goals], ids=lambda exercise: exercise.name)
def test_goals_are_counted_in_the_machine_code(exercise):
    kernel = simulated(exercise.solved, exercise.problem.entry)
    assert judge.measured(kernel, exercise.problem, exercise.judged).recording.level == "sass"


@pytest.mark.parametrize(("exercise", "wrong"), WRONG_KERNELS, ids=map(named, WRONG_KERNELS))
def test_a_known_wrong_kernel_fails_with_its_own_message(exercise, wrong):
    source = exercise.wrong_source(wrong)  # the starter as it stands is no attempt, and gets no verdict
    fails_because(exercise, wrong, f"// my own attempt\n{source}" if wrong.version == "starter" else source)


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_mistake_is_recognised_in_another_learners_words(exercise):
    wrong = exercise.wrong[-1]
    verdict = timed(lambda: exercise.check(rewritten(exercise.wrong_source(wrong))))
    said = (wrong.because, "the kernel is right.", "the goal is reached.")  # which speaks of the learner's names
    assert verdict.passed is False and any(sentence in verdict.sentence for sentence in said), verdict.sentence


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"), MUTANTS, ids=[f"{exercise.name}-{new}" for exercise, _, new, _ in MUTANTS]
)
def test_edit_is_caught_and_explained_by_no_other_mistake(exercise, old, new, said):
    assert old in exercise.solved
    verdict = exercise.check(exercise.solved.replace(old, new))
    assert not verdict.passed, verdict.sentence
    assert said in verdict.sentence.replace("\u202f", " "), verdict.sentence
    known = [wrong.because for wrong in exercise.wrong]
    assert (exercise.name, new) not in UNEXPLAINED or not any(cause in verdict.sentence for cause in known), (
        verdict.sentence
    )


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_four_wrong_kernels_are_known_and_no_version_is_unused(exercise):
    versions = {wrong.version for wrong in exercise.wrong}
    of_the_source = {wrong.version for wrong in exercise.wrong if not wrong.changes}
    assert len(versions) == len(exercise.wrong)
    assert len(versions - {"starter"}) >= 4
    assert of_the_source | {"starter", "solution"} == set(exercise.marked.versions)


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_indistinguishable_mistakes_share_an_explanation(exercise):
    because = {wrong.version: wrong.because for wrong in exercise.wrong}
    alike = defaultdict(set)
    # What is found in the text alone, or depends on a variable that is never set.
    unset = {w.version for w in exercise.wrong if w.because == COMMA_IN_INDEX or w.text or w.version == "never_set"}
    first = {"starter"} if isinstance(exercise, Blank) else set()  # told by its text, before it is run
    for version in {"starter", "solution", *because} - unset - first:
        alike[examined(exercise, version).signature].add(because.get(version, version))
    assert all(len(sentences) == 1 for sentences in alike.values()), alike.values()


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_solving_only_adds_or_changes_marked_lines(exercise):
    regions = [part for part in exercise.marked.parts if not isinstance(part, str)]
    marked = {line for region in regions for lines in region.values() for line in lines}
    for version in exercise.marked.versions:
        changes = difflib.ndiff(exercise.starter.splitlines(), exercise.marked.version(version).splitlines())
        assert {line[2:] for line in changes if line[0] in "+-"} - {""} <= marked | {""}, version


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
@pytest.mark.parametrize("version", ["starter", "solution"])
def test_the_picture_shows_both_ends_of_the_exercise(exercise, version):
    if isinstance(exercise, Blank) and version == "starter":
        pytest.skip("an empty body does nothing that could be drawn")
    picture = exercise.show(exercise.marked.version(version))
    assert not isinstance(picture, Verdict), picture.sentence
    assert len(picture.caption) > 40


# --- values


@pytest.mark.parametrize("exercise", VALUES, ids=lambda exercise: exercise.name)
def test_the_right_value_passes(exercise):
    verdict = timed(lambda: exercise.check(exercise.solved))
    assert verdict.passed is True, verdict.sentence


@pytest.mark.parametrize("exercise", VALUES, ids=lambda exercise: exercise.name)
def test_the_first_value_is_not_done_and_is_not_marked_wrong(exercise):
    assert timed(exercise.check).passed is None
    assert exercise.judge(exercise.starter).passed is not True
    assert progress.states() == {}


@pytest.mark.parametrize(("exercise", "wrong"), WRONG_VALUES, ids=map(named, WRONG_VALUES))
def test_a_known_wrong_value_fails_with_its_own_message(exercise, wrong):
    verdict = timed(lambda: exercise.check(wrong.answer))
    assert verdict.passed is False
    assert wrong.because in verdict.sentence
    assert sum(other.because in verdict.sentence for other in exercise.wrong if other.because != wrong.because) == 0


@pytest.mark.parametrize("exercise", VALUES, ids=lambda exercise: exercise.name)
def test_at_least_four_wrong_values_are_known(exercise):
    assert len(exercise.wrong) >= 4


@pytest.mark.parametrize("exercise", VALUES, ids=lambda exercise: exercise.name)
def test_nonsense_gets_a_sentence(exercise):
    for answer in ("x", 1.5, (), {}, (1, 2, 3), [0], -1, True, {"BM": "8"}):
        verdict = exercise.check(answer)
        assert verdict.passed is False and verdict.sentence.strip().endswith((".", "?", "²", ")")), repr(answer)
        exercise.show(answer)


# --- all


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_exercise_has_task_three_hints_and_folded_solution(exercise):
    assert 1 <= exercise.difficulty <= 3 and len(exercise.task) > 40
    assert len(set(exercise.hints)) == 3
    page = exercise.hint()._repr_mimebundle_()["text/html"]
    assert page.count("<details>") == 4 and "open" not in re.findall(r"<details[^>]*>", page)[0]
    assert all(exercise.hint(step) == exercise.hints[step - 1] for step in (1, 2, 3))
    solution = Plain(exercise.solved) if isinstance(exercise, Blank) else exercise.solution()
    assert solution.html() in page


def test_names_are_unique_and_the_easiest_exercise_comes_first():
    names = [exercise.name for exercise in EXERCISES]
    assert len(set(names)) == len(names)
    levels = defaultdict(list)
    for exercise in EXERCISES:
        if not isinstance(exercise, Blank):  # a blank stands where its idea does
            levels[exercise.notebook].append(exercise.difficulty)
    assert list(levels) == sorted(levels)
    assert all(order[0] == min(order) for order in levels.values()), levels  # the others stand where their ideas do


def test_an_exercise_lies_in_the_module_of_its_notebook():
    for number in QUESTIONS:
        module = import_module(f"helpers.exercises.n{number}")
        assert all(exercise.notebook == number for exercise in module.EXERCISES), number
        assert of_notebook(number) == tuple(module.EXERCISES)


def test_notebooks_02_to_11_have_at_least_three_exercises():
    for number in range(2, 12):
        assert len(of_notebook(f"{number:02}")) >= 3, number


def test_the_table_counts_what_is_diagnosed_and_sees_what_is_not(monkeypatch):
    exercise = next(value for value in VALUES if value.name == "strided_sectors")
    *_, row, total = contract.table([exercise])
    count = len(exercise.wrong)
    assert f"| {count} | {count} | accepted | open |" in row and f"**{count}** | **{count}** |" in total
    answers = list(contract.wrong(exercise))
    monkeypatch.setattr(contract, "wrong", lambda _: [*answers, (exercise.solved, "It is right.")])
    kept_answers = contract.kept(exercise)
    assert (kept_answers.wrong, kept_answers.diagnosed) == (count + 1, count)


def test_command_prints_cells_or_table_and_refuses_other_names(capsys, monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, "off")
    assert command(["strided_sectors"]) == 0
    assert capsys.readouterr().out.startswith('strided_sectors = exercises.get("strided_sectors")')
    assert command(["--contract", "strided_sectors"]) == 0
    assert capsys.readouterr().out.startswith("| notebook | exercise |")
    assert command(["nobody"]) == 2
