"""Functions that a learner writes: of the fewest known mistakes that give all answers those are told that show."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from helpers.exercises import n05, n07
from helpers.exercises.framework import functions, progress
from helpers.exercises.framework.functions import Version

SIGNATURE = "def cycles_for(reason, cycles, issued, closed, samples):\n"
TRADE = "def most_registers(gpu, threads, blocks):\n    warps = math.ceil(threads / 32) * blocks\n"
ROOM = "    if warps > gpu.warps_per_sm or blocks > gpu.blocks_per_sm:\n        return 0\n"


def reasons(exercise, text: str) -> list[str]:
    """What the check of a function gives as reasons, one for each mistake."""
    verdict = exercise.check(Version("written", text))
    assert verdict.passed is False
    return re.split("\n(?:Why|Clue): ", verdict.sentence)[1:]


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        pytest.param("(cycles - issued) * samples[reason] / sum(samples.values()) if sum(samples.values()) else 0",
                     ["closed are accounted for"], id="closed forgotten"),
        pytest.param("(cycles - issued) * samples[reason] / sum(samples.values())",
                     ["closed are accounted for"], id="closed and the zero forgotten"),
        pytest.param("samples[reason] / sum(samples.values())", ["That is the share"],
                     id="a share, without the zero"),
    ],
)  # fmt: skip
def test_mistakes_in_the_share_of_cycles_are_named(returned, named):
    given = reasons(n07.SHARE, f"{SIGNATURE}    return {returned}")
    assert len(given) == len(named) and all(words in sentence for words, sentence in zip(named, given, strict=True))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param(f"{ROOM}    return min(gpu.registers_per_sm // warps // 32, 255)", ["in units of 256"],
                     id="nothing rounded"),
        pytest.param(f"{ROOM}    return min(gpu.registers_per_sm / warps / 32, 255)", ["parts of registers"],
                     id="not even to whole registers"),
        pytest.param("    return min(gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256 // 32, 255)",
                     ["may have no room"], id="always room"),
        pytest.param(f"    warps = math.ceil(threads * blocks / 32)\n{ROOM}    return min(gpu.registers_per_sm // "
                     "(math.ceil(warps / 4) * 4) // 256 * 256 // 32, 255)", ["never share a warp"], id="shared warps"),
        pytest.param("    return gpu.registers_per_sm // (threads * blocks)", [], id="three at once"),
    ],
)  # fmt: skip
def test_mistakes_in_the_trade_of_registers_are_named(body, named):
    given = reasons(n05.MOST_REGISTERS, TRADE + body)
    assert sorted(named) == sorted(words for words in named if any(words in sentence for sentence in given))
    assert len(given) == len(named)


def test_mistakes_that_exclude_each_other_are_not_combined():
    solved, mistake = n07.WRITTEN, dict((version.name, version) for version, _ in n07.MISTAKES)
    both = mistake["closed_too"].with_changes_of(mistake["nothing_sampled"])
    assert "closed" not in both.text.partition("\n")[2] and "if together" not in both.text
    assert both.text != solved.text
    with pytest.raises(ValueError, match="no text"):
        mistake["closed_too"].with_changes_of(mistake["closed_added"])


def test_what_no_known_mistakes_explain_gets_no_reason():
    for number in (17.5, 0):  # 0 is what a share, rounded down, is in all cases
        assert reasons(n07.SHARE, f"{SIGNATURE}    return {number}") == []


def test_a_function_that_still_returns_none_is_no_try(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_memory", {})
    assert n07.SHARE.check(lambda *_: None).passed is None and progress.states() == {}
    assert n07.SHARE.check(lambda *_: 1.0).passed is False and progress.states() == {n07.SHARE.name: progress.TRIED}


def test_only_mistakes_that_show_in_the_given_case_are_named():
    half = functions.Version("half", "def half(a, b):\n    return a / b if b else 0")
    mistakes = [
        (half.replace("twice", ("a / b", "2 * a / b")), "That is twice as much."),
        (half.replace("divides", (" if b else 0", "")), "b may be 0."),
    ]
    cases = [functions.Case((6, 2), 3, "6 and 2", "3"), functions.Case((6, 0), 0, "6 and 0", "0")]
    said = functions.judged(lambda a, b: 2 * a / b, cases, mistakes, "Right.").sentence
    assert "twice as much" in said and "b may be 0." not in said


def test_what_is_printed_is_not_called_the_answer():
    printing = Version("written", f"{TRADE}    print('warps', warps)")
    assert n05.MOST_REGISTERS.check(printing).sentence.startswith("Your function prints and returns None")


def test_numbers_of_numpy_are_numbers():
    def written(*arguments):
        return np.float32(n07.WRITTEN(*arguments))

    assert n07.SHARE.check(written).passed
    assert "returns inf." in n07.SHARE.check(lambda *_: np.inf).sentence


def test_a_sum_of_keys_is_named_where_it_is_the_cause():
    keys, name = (reasons(n07.SHARE, f"{SIGNATURE}    return cycles + {what}") for what in ("sum(samples)", "reason"))
    assert "take its keys" in keys[0] and name == []


def test_a_division_by_another_zero_is_no_number_of_samples():
    returned = "samples[reason] / (sum(samples.values()) / (cycles - issued - closed))"
    (reason,) = reasons(n07.SHARE, f"{SIGNATURE}    return {returned}")
    assert "a number that is 0 for a kernel that never waits" in reason


def test_a_function_that_changes_its_argument_leaves_the_cases():
    body = (
        "    if not sum(samples.values()):\n        return 0\n    samples[reason] /= sum(samples.values())\n"
        "    return (cycles - issued - closed) * samples[reason]"
    )
    verdict = n07.SHARE.check(Version("changing", SIGNATURE + body))
    assert verdict.passed is False and "your function changes an argument" in verdict.sentence
    assert n07.SHARE.check(n07.SHARE.solved).passed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda right: 100 * right, "Each of your answers is 100 times the right one."),
        (math.floor, "rounded down to whole numbers"),
        (math.ceil, "rounded up to whole numbers"),
    ],
    ids=["times 100", "down", "up"],
)
def test_answers_that_follow_from_the_right_ones_say_how(change, said):
    cases = [functions.Case((n,), n / 3, f"n = {n}", "") for n in range(1, 9)]
    assert said in functions.judged(lambda n: change(n / 3), cases, (), "right").sentence


def threads_of_a_share(threads, parts):
    return threads / parts * 2


def whole_threads_of_a_share(threads, parts):
    return math.ceil(threads / parts) // 2


def test_the_division_with_which_a_function_is_right_is_named():
    def why(function, expected):
        calls = [(7, 2), (9, 4), (8, 3)]
        cases = [functions.Case(call, expected(*call), "a call", "right") for call in calls]
        return functions.judged(function, cases, (), "Right.").sentence.partition("\n")[2]

    assert why(threads_of_a_share, lambda a, b: a // b * 2).startswith("Why: With // for / your function is right")
    assert why(whole_threads_of_a_share, lambda a, b: -(-a // b) / 2).startswith("Why: With / for // your function")
    assert why(threads_of_a_share, lambda a, b: a // b + 100) == ""
    assert why(lambda a, b: a / b, lambda a, b: a // b) == "Why: Rounded down, all your answers are right."


def test_trying_another_division_prints_nothing_and_never_fails(capsys):
    def with_a_name_of_its_own(name):
        def half(n, of=name):
            print("half of", n)
            return n / of

        return half

    cases = [functions.Case((n,), n + 1, f"n = {n}", "n + 1") for n in (3, 4, 8)]
    assert functions.judged(with_a_name_of_its_own(2), cases, (), "Right.").passed is False
    assert capsys.readouterr().out.splitlines() == ["half of 3", "half of 4", "half of 8"]
