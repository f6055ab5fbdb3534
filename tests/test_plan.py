"""The plan of the course: read from its file, and a broken one answered with the row and what is expected there."""

import re

import pytest

from helpers import exercises, plan
from helpers.plan import BrokenPlan, Mark, Pause, Stop
from helpers.tools.gallery.pictures import PICTURES

ROW = (
    '[[notebook]]\nfile = "00_start.ipynb"\ntitle = "Begin"\ntrail = "start"\nidea = "What is here"\nminutes = 20\n'
    'summary = "So."\n'
)
MARK = '{} = {{ place = "{}", why = "it waits" }}\n'
OTHER = ROW.replace("00_start", "01_loop")
STOPS = 'stops = [{ notebook = "00", steps = [2, 1], why = "First." }]\n'
ROUTE = f'[[route]]\nname = "an hour"\nat_most = 60\npromise = "All."\n{STOPS}'


def test_a_plan_has_its_notebooks_and_routes_in_order():
    plan_read = plan.read(ROW + OTHER + ROUTE.replace("[{", "[{ minutes = 5, what = 'Tea.' }, {"))
    assert plan_read.numbers == ("00", "01") and plan_read.notebook("01").file == "01_loop.ipynb"
    assert plan_read.notebooks[0].minutes == 20 and plan_read.notebooks[0].trail == "start"
    assert plan_read.routes[0].stops == (Pause(5, "Tea."), Stop("00", (2, 1), "First."))


def test_notebook_may_say_its_kernels_limit_before_and_after():
    first, other = plan.read(ROW + MARK.format("now", "l2") + MARK.format("then", "lanes") + OTHER).notebooks
    assert first.now == Mark("l2", "it waits") and first.then == Mark("lanes", "it waits")
    assert other.now is None and other.then is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[notebook]", "course.toml is not written in TOML: .*line 1"),
        (f"[title]\n{ROW}", "course.toml has a table 'title'; expected are [[notebook]] and [[route]]."),
        (ROW.replace("[[notebook]]", "[notebook]"), "'notebook' in course.toml is no list of rows; begin each with [["),
        (ROW + OTHER.replace('trail = "start"\n', ""), "[[notebook]] 2 of course.toml has no 'trail'; it needs file, "),
        (ROW + "colour = 3\n", "[[notebook]] 1 of course.toml has a key 'colour' that has no meaning"),
        (ROW.replace("20", '"20"'), "[[notebook]] 1 of course.toml: minutes is '20', expected a whole number."),
        (ROW.replace("20", "0"), "[[notebook]] 1 of course.toml: minutes is empty."),
        (ROW.replace("00_start", "start"), "the file is 'start.ipynb', expected two digits and a name"),
        (ROW + "now = 3\n", "[[notebook]] 1 of course.toml: now is 3, expected { place = …, why = … }."),
        (ROW + MARK.format("now", "l2"), "[[notebook]] 1 of course.toml has only one of 'now' and 'then'"),
        (ROW + MARK.format("now", "l2") + MARK.format("then", "l3"), "then: the place is 'l3', expected one of hbm, "),
        (ROW + ROW, "course.toml has two notebooks with the number 00."),
        (OTHER + ROW, "course.toml has notebook 00 after notebook 01; put them in their order."),
        (ROW + ROUTE.replace('"00"', '"07"'), "The route 'an hour' of course.toml stops at notebook '07'"),
        (ROW + ROUTE.replace("[2, 1]", "[]"), "[[route]] 1 of course.toml, stop 1: steps is [], expected the numbers"),
        (ROW + ROUTE.replace("[2, 1]", '["2"]'), "stop 1: steps is ['2'], expected the numbers of steps"),
        (ROW + ROUTE.replace("[{", "[3, {"), "[[route]] 1 of course.toml, stop 1 is 3, expected { notebook"),
        (ROW + ROUTE.replace("{ notebook", '{ minutes = 5, notebook'), "stop 1 has no 'what'; it needs minutes, what"),
    ],
)  # fmt: skip
def test_broken_plan_is_answered_with_its_row_and_expectation(text, sentence):
    with pytest.raises(BrokenPlan) as caught:
        plan.read(text)
    pattern = re.escape(sentence).replace(r"\.\*", ".*")
    assert re.search(pattern, str(caught.value)), caught.value


def test_number_not_in_the_plan_is_answered_with_existing_ones():
    with pytest.raises(BrokenPlan, match=r"course\.toml has no notebook 99; it has 00, 01, "):
        plan.course().notebook("99")


# --- the plan of this course, and what must agree with it


def test_notebooks_in_the_folder_and_in_the_plan_are_the_same():
    assert sorted(path.name for path in plan.FOLDER.glob("*.ipynb")) == [
        notebook.file for notebook in plan.course().notebooks
    ]


def test_planned_notebooks_and_exercise_modules_correspond():
    assert tuple(exercises.PREDICTIONS) == tuple(exercises.QUESTIONS) == plan.course().numbers


def test_gallery_picture_is_named_after_a_planned_notebook():
    numbers = {match[1] for picture in PICTURES if (match := re.match(r"(\d\d)-", picture.name))}
    assert numbers <= set(plan.course().numbers)
