"""Every prediction of the course: options with a reason each, a computed answer, a picture after the commitment."""

import re

import pytest
from nbformat import reads

from helpers import plan
from helpers.exercises import PREDICTIONS
from helpers.exercises.framework.predict import Prediction, predict

PNG = "data:image/png;base64,"
NAMED = [(number, make) for number, questions in PREDICTIONS.items() for make in questions]
# What decides these is a sum by hand or a list of rules, which the notebook goes through right after the question.
WITHOUT_PICTURE = {
    ("01", "predict_flops"),
    ("01", "predict_slack"),  # the table behind it is the answer
    ("03", "predict_gap"),  # likewise
    ("06", "predict_small"),  # likewise
    ("13", "predict_legal"),
    ("16", "predict_bits"),
    ("17", "predict_length"),
    ("17", "predict_merge"),
    ("18", "predict_loop"),
    ("18", "predict_patches"),
}


def notebook(number: str):
    path = plan.course().notebook(number).path
    return reads(path.read_text(encoding="utf-8"), as_version=4)


def asked(number: str, make) -> Prediction:
    """The prediction as its notebook asks it."""
    if make.__name__ != "predict_last_threads":
        return make()
    code = "\n".join(cell.source for cell in notebook(number).cells if cell.cell_type == "code")
    return make(re.search(r'^source = r?"""(.*?)^"""', code, re.MULTILINE | re.DOTALL)[1])


@pytest.mark.parametrize(("number", "make"), NAMED, ids=[f"{number} {make.__name__}" for number, make in NAMED])
def test_committed_prediction_reveals_answer_reasons_picture(number, make):
    question = asked(number, make)
    assert len(question.reasons) >= 3
    assert len(set(question.reasons.values())) == len(question.reasons)
    assert all(len(reason) > 20 and reason.strip()[-1] in ".?" for reason in question.reasons.values())
    wrong = next(option for option in question.reasons if option != question.answer)
    assert question.picture.value == "" and question.feedback.value == ""
    question.options.value = wrong
    question.button.click()
    assert question.committed == wrong and question.options.disabled
    text = question.feedback.value
    assert f"The answer is {question.answer}:" in text
    assert text.count("<br>") >= len(question.reasons) - 2
    assert (PNG in question.picture.value) is ((number, make.__name__) not in WITHOUT_PICTURE)
    assert (question.picture.layout.display != "none") is ((number, make.__name__) not in WITHOUT_PICTURE)
    assert question.button.description == "Try again"
    question.button.click()
    assert (question.committed, question.options.value, question.feedback.value) == (None, None, "")
    assert question.button.disabled and not question.options.disabled and question.picture.layout.display == "none"


@pytest.mark.parametrize("number", PREDICTIONS)
def test_a_notebook_asks_what_the_catalogue_says_in_its_order(number):
    code = "\n".join(cell.source for cell in notebook(number).cells if cell.cell_type == "code")
    called = re.findall(r"^(?:\w+\.)*(predict_\w+)\(", code, re.MULTILINE)
    assert called == [make.__name__ for make in PREDICTIONS[number]]


def test_a_picture_that_is_not_committed_to_is_never_drawn():
    question = predict("How many?", {1: "one", 4: "four"}, 4, picture=lambda: pytest.fail("drawn too early"))
    question.options.value = 1
    assert question.picture.layout.display == "none"
    assert repr(question).startswith("Predict. How many? 1 · 4.")
