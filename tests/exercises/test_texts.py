"""Title, task and hints of every exercise lie in texts/<notebook>.toml."""

import tomllib

import pytest

from helpers import exercises
from helpers.exercises.framework import texts
from tests.notebooks.support import NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_file_holds_the_texts_of_its_exercises_and_no_others(number):
    rows = tomllib.loads((texts.FOLDER / f"{number}.toml").read_text("utf-8")) if exercises.of_notebook(number) else {}
    assert set(rows) == {exercise.name for exercise in exercises.of_notebook(number)}
    assert all(set(row) == {"title", "task", "hints"} and len(row["hints"]) == 3 for row in rows.values())


def test_a_line_break_is_a_space_and_a_name_its_number(tmp_path, monkeypatch):
    (tmp_path / "99.toml").write_text(
        '[a]\ntitle = "A"\ntask = """\nOne of\n$many."""\nhints = ["1", "2", "{x[3]} 3"]\n'
    )
    monkeypatch.setattr(texts, "FOLDER", tmp_path)
    said = {"title": "A", "task": "One of 7.", "hints": ("1", "2", "{x[3]} 3")}
    assert texts.of("99", "a", many=7) == {"name": "a", "notebook": "99"} | said
    with pytest.raises(KeyError, match="many"):
        texts.of("99", "a")
    with pytest.raises(KeyError, match="b"):
        texts.of("99", "b")
