"""Blanks: kernels written from a signature. An empty body waits, an accepted kernel is kept and the course goes on."""

import os

import pytest
from matplotlib.text import Text

from helpers.exercises import EXERCISES, get
from helpers.exercises.framework import kept, progress, text_slips
from helpers.exercises.framework.blank import COURSE, LEARNER, SKIPPED, Blank, Plain
from helpers.exercises.framework.pictures import LEARNERS
from helpers.exercises.framework.text_slips import COMMA_IN_INDEX

BLANKS = [exercise for exercise in EXERCISES if isinstance(exercise, Blank)]
NAIVE = get("naive")
MINE = NAIVE.solved.replace("sum", "total")


@pytest.fixture(autouse=True)
def folder_of_a_learner(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_memory", {})
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path / "my"))
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    return tmp_path / "my"


@pytest.mark.parametrize("blank", BLANKS, ids=lambda blank: blank.name)
def test_blank_has_signature_numbered_comments_and_empty_lines(blank):
    body = blank.starter[blank.starter.index("__global__") :]
    assert "1. " in blank.starter and body.count("{") >= 1
    assert blank.lines >= 2


@pytest.mark.parametrize("blank", BLANKS, ids=lambda blank: blank.name)
def test_at_least_six_wrong_solutions_are_known_for_a_blank(blank):
    assert len(blank.wrong) >= 6


def test_accepted_kernel_is_kept_and_the_course_uses_it(folder_of_a_learner):
    assert NAIVE.written.by == COURSE and NAIVE.written.source == NAIVE.solved
    assert NAIVE.check(MINE).passed is True
    assert (folder_of_a_learner / "naive.cu").read_text() == MINE
    assert (NAIVE.written.source, NAIVE.written.by) == (MINE, LEARNER)


def test_wrong_kernel_is_not_kept_and_replaces_no_right_one(folder_of_a_learner):
    assert NAIVE.check(NAIVE.marked.version("rows_of_B")).passed is False
    assert not folder_of_a_learner.exists()
    NAIVE.check(MINE)
    NAIVE.check(NAIVE.marked.version("rows_of_B"))
    assert NAIVE.written.source == MINE


def test_a_starter_waits_whatever_stands_in_its_comments():
    emptied = NAIVE.starter.replace("// 3. Store", "// three: store")
    for source in (None, NAIVE.starter, emptied):
        verdict = NAIVE.check(source)
        assert verdict.passed is None and "This is still the kernel" in verdict.sentence
    assert progress.states() == {}


def test_skipping_takes_the_solution_but_keeps_an_own_kernel():
    assert NAIVE.skip().source == NAIVE.solved
    assert NAIVE.written.by == SKIPPED
    kept.forget("naive")
    NAIVE.check(MINE)
    NAIVE.skip()
    assert NAIVE.written.source == MINE
    assert progress.states() == {"naive": progress.SOLVED}


def test_a_sum_that_never_begins_is_named_with_its_line():
    verdict = NAIVE.check(NAIVE.solved.replace("float sum = 0.0f;", "float sum;"))
    line = next(n for n, text in enumerate(NAIVE.solved.splitlines(), 1) if "float sum" in text)
    assert verdict.passed is False
    assert "sum, a variable without a first value." in verdict.sentence
    assert f"line {line}: float sum;" in verdict.sentence


@pytest.mark.parametrize(
    "begins",
    [
        "float sum = 0.0f;",
        "float sum;\n    sum = 0.0f;",
        "float sum; set(&sum);",
        "float sum; float &s = sum; s = 0.0f;",
    ],
)
def test_a_sum_that_begins_is_not_called_unset(begins):
    source = NAIVE.solved.replace("float sum = 0.0f;", begins)
    helper = "__device__ void set(float *at) { *at = 0.0f; }\n"
    assert NAIVE.check(helper + source).passed is True


@pytest.mark.parametrize(("right", "typed"), [("A[row * K + k]", "A[row, k]"), ("C[row * N + col]", "C[ row , col ]")])
def test_two_indices_in_one_bracket_are_named_with_their_line(right, typed):
    verdict = NAIVE.check(NAIVE.solved.replace(right, typed))
    line = next(n for n, text in enumerate(NAIVE.solved.splitlines(), 1) if right in text)
    assert verdict.passed is False
    assert verdict.sentence == f"Line {line} has {typed}.\nWhy: {COMMA_IN_INDEX}"


@pytest.mark.parametrize("line", ["// A[row, k]", "int two[2] = {0, 1};", "f(A[row], k);", "g(A[min(row, k)]);"])
def test_other_commas_are_no_second_index(line):
    assert text_slips.found_in(f"{line}\n{NAIVE.solved}") is None


def test_kernel_is_kept_in_memory_where_no_file_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path / "file" / "my"))
    assert kept.keep("naive", MINE) is None
    assert kept.source("naive") == MINE
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, "off")
    assert kept.source("naive") == MINE


def test_read_only_course_keeps_kernels_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.delenv(kept.ENVIRONMENT_VARIABLE)
    monkeypatch.setattr(kept, "_writable", lambda folder: folder != kept.FOLDER)
    monkeypatch.setattr(progress, "data_folder", lambda: tmp_path / "of-the-user")
    assert NAIVE.check(MINE).sentence.endswith(
        f"Kept in {tmp_path}/of-the-user/my/naive.cu, since the course's own folder cannot be written."
    )
    assert (NAIVE.written.by, NAIVE.written.source) == (LEARNER, MINE)
    (tmp_path / "file").touch()
    monkeypatch.setattr(progress, "data_folder", lambda: tmp_path / "file")
    kept.forget("naive")
    assert NAIVE.check(MINE).sentence.endswith(
        f"{tmp_path}/file/my cannot be written: the kernel is kept until this notebook's kernel ends."
    )


def test_a_picture_says_whose_kernel_it_shows():
    def titles() -> str:
        return " ".join(text.get_text() for text in NAIVE.show(NAIVE.written.source).findobj(Text))

    assert "the course's solution" in titles() and "your kernel" not in titles()
    assert NAIVE.check(MINE).passed
    assert "your kernel" in titles() and "the course's solution" not in titles()


@pytest.mark.parametrize("blank", BLANKS, ids=lambda blank: blank.name)
def test_a_pictures_title_speaks_of_your_kernel_or_of_none(blank):
    title = getattr(blank.picture, "title", "")
    assert LEARNERS in title or "your" not in title.lower()


def test_the_folder_of_a_learner_holds_complete_files_alone(folder_of_a_learner):
    kept.keep("naive", MINE)
    kept.keep("naive", NAIVE.solved)
    assert os.listdir(folder_of_a_learner) == ["naive.cu"]
    kept.forget("naive")
    assert kept.source("naive") is None


def test_unfoldable_source_is_shown_as_its_title_alone():
    assert Plain("int secret;")._repr_mimebundle_()["text/plain"] == "int secret;"
    folded = Plain("int secret;").folded("Its source")._repr_mimebundle_()
    assert folded["text/plain"] == "Its source" and "int secret;" in folded["text/html"]
