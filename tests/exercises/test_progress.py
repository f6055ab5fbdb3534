"""Progress: kept in a small file, shown as a map, forgotten by one call, and never in the way."""

import json

import pytest

from helpers import exercises, plan
from helpers.exercises import n14
from helpers.exercises.framework import progress
from helpers.exercises.framework.progress import Row, progress_map

ROWS = (Row("03", (("one", "First"), ("two", "Second"))), Row("04", (("three", "Third"),)))


@pytest.fixture
def file(tmp_path, monkeypatch):
    progress_file = tmp_path / "new folder" / "progress.json"
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(progress_file))
    progress.reset()  # what a test before this one could not write
    yield progress_file
    progress.reset()


def test_what_was_tried_and_solved_is_kept_in_a_file(file):
    progress.note("one", solved=False)
    progress.note("two", solved=True)
    assert json.loads(file.read_text()) == {"one": "tried", "two": "solved"}
    assert [entry.name for entry in file.parent.iterdir()] == ["progress.json"]


def test_what_is_solved_stays_solved(file):
    progress.note("one", solved=True)
    progress.note("one", solved=False)
    assert progress.states() == {"one": "solved"}


def test_two_notebooks_do_not_forget_what_the_other_one_wrote(file):
    progress.note("one", solved=True)
    file.write_text(json.dumps({**json.loads(file.read_text()), "two": "solved"}))
    progress.note("three", solved=False)
    assert progress.states() == {"one": "solved", "two": "solved", "three": "tried"}


def test_one_call_forgets_everything(file):
    progress.note("one", solved=True)
    assert "forgotten" in progress.reset()
    assert progress.states() == {} and not file.exists()
    assert "forgotten" in progress.reset()  # with nothing to forget


@pytest.mark.parametrize("text", ["", "no json", "[1, 2]", '{"one": "done", "two": 3}', '{"one": null}', "\x00\xff"])
def test_a_damaged_file_counts_as_empty_and_is_replaced(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert progress.states() == {}
    progress.note("one", solved=True)
    assert json.loads(file.read_text()) == {"one": "solved"}


def test_unwritable_progress_stays_in_memory_and_the_map_says_so(tmp_path, monkeypatch):
    blocker = tmp_path / "a file"
    blocker.write_text("")
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(blocker / "progress.json"))
    progress.note("one", solved=True)
    assert progress.states() == {"one": "solved"}
    assert "cannot be written here" in progress_map(ROWS).summary
    progress.reset()
    assert progress.states() == {}


def test_it_can_be_turned_off(monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, "off")
    progress.note("one", solved=True)
    assert progress.path() is None and progress.states() == {"one": "solved"}
    progress.reset()


def test_without_a_choice_it_lies_in_the_users_data_folder(monkeypatch):
    monkeypatch.delenv(progress.ENVIRONMENT_VARIABLE, raising=False)
    assert progress.path().name == "progress.json" and "gemm-course" in progress.path().parts


def test_the_map_shows_each_exercise_with_its_mark(file):
    progress.note("one", solved=True)
    progress.note("three", solved=False)
    shown = progress_map(ROWS)
    assert shown.text().splitlines()[:2] == ["03  ● First   ○ Second", "04  ◐ Third"]
    assert shown.summary.startswith("1 of 3 exercises solved. It is kept in ")
    page = shown._repr_mimebundle_()["text/html"]
    assert "● First" in page and "◐ Third" in page


def test_notebook_number_leads_to_it_where_the_course_has_it(file):
    page = progress_map((Row("03", ()), Row("99", ())))._repr_mimebundle_()["text/html"]
    assert f'<a href="{plan.course().notebook("03").file}">03</a>' in page
    assert ">99</th>" in page


def test_the_courses_map_has_every_exercise(file):
    shown = exercises.progress_map()
    names = [name for row in shown.rows for name, _ in row.exercises]
    asked = [question.name for questions in exercises.QUESTIONS.values() for question in questions]
    assert sorted(names) == sorted([*(exercise.name for exercise in exercises.EXERCISES), *asked])
    assert len(set(names)) == len(names)
    assert [row.notebook for row in shown.rows] == [
        number for number in plan.course().numbers if exercises.QUESTIONS[number] or exercises.of_notebook(number)
    ]


def test_answered_question_is_remembered_by_its_name(file):
    assert n14.check_full(None).passed is None
    assert progress.states() == {}
    n14.check_full(3)
    assert progress.states() == {"block_for_every_sm": "tried"}
    assert n14.check_full(n14.smallest_full()).passed
    assert progress.states() == {"block_for_every_sm": "solved"}


@pytest.mark.parametrize("number", exercises.QUESTIONS)
def test_a_question_of_the_map_is_one_that_its_notebook_asks(number):
    path = plan.course().notebook(number).path
    for question in exercises.QUESTIONS[number]:
        assert f"n{number}.{question.__name__}(" in path.read_text(encoding="utf-8"), question.name


def test_the_map_names_the_file_as_its_owner_writes_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "kept" / "progress.json"))
    assert "kept in ~/kept/progress.json;" in progress_map(ROWS).summary


def test_trying_and_solving_are_noted_and_the_starter_is_neither(file):
    exercise = exercises.get("strided_sectors")
    exercise.check()
    assert progress.states() == {}
    exercise.check(8)
    assert progress.states() == {"strided_sectors": "tried"}
    exercise.check(exercise.solved)
    assert progress.states() == {"strided_sectors": "solved"}
