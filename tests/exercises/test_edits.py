"""Solutions with random edits: what every verdict on them has, whatever the fault."""

import re

import pytest

from helpers import exercises
from helpers.exercises.framework.judge import NOT_YOURS
from tests.exercises.typed import KERNELS
from tests.exercises.typed.edits import edited

QUOTED = re.compile(r"^ +line (\d+): (.*)$", re.MULTILINE)


def test_a_seed_gives_the_same_kernels_again_and_each_once():
    sources = [kernel.source for kernel in edited("tiled", "a", 12, 4)]
    assert sources == [kernel.source for kernel in edited("tiled", "a", 12, 4)]
    assert len(set(sources)) == 16 and exercises.get("tiled").solved not in sources
    assert sources != [kernel.source for kernel in edited("tiled", "b", 12, 4)]


def test_what_an_edit_changed_is_shown():
    for kernel in edited("naive", "a", 12):
        gone, come = (sum(line.startswith(sign) for line in kernel.changes.splitlines()) for sign in "-+")
        assert 1 <= gone + come <= 2 and abs(gone - come) <= 1


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_verdict_quotes_lines_of_the_kernel_and_never_fails(exercise):
    for kernel in edited(exercise.name, "a", 1, 1):
        sentence, lines = exercise.check(kernel.source).sentence, kernel.source.splitlines()
        assert NOT_YOURS not in sentence
        for number, line in QUOTED.findall(sentence):
            assert lines[int(number) - 1].strip() == line.strip(), kernel.changes
