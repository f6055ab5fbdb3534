"""The questions of notebook 13: the legal share is counted, and a configuration is judged by rules and predictions."""

import pytest

from helpers.exercises import n13
from helpers.exercises.framework import exercise, judge
from helpers.pictures.tuning import facts as landscape
from helpers.run import simulated


def test_the_predicted_share_is_that_of_the_counted_space():
    legal = sum(not candidate.broken for candidate in landscape.space()) / len(landscape.space())
    assert legal < 0.1
    assert n13.predict_legal().answer == "less than a tenth"


@pytest.mark.parametrize(
    ("changed", "passed", "sentence"),
    [
        ({}, None, "32, the lanes of a warp"),
        ({"WN": 32}, True, "the compiler takes 128 registers, not 136: 25.0%"),
        ({"BN": 256, "BK": 8, "TM": 16}, False, "25% of the warps are wanted"),
        ({"WN": 32, "BLOCKS": 2}, True, "25.0% of the warps"),
        ({"WN": 32, "BLOCKS": 3}, False, "spill: BLOCKS = 3 leaves a thread at most 80 of them"),
        ({"BM": 256, "BN": 64, "BK": 8, "WM": 128, "TM": 16, "TN": 16}, False, "Registers spill: smaller patches"),
        ({"WM": 48}, False, "multiple of WM"),
        ({"BM": 64, "BN": 64, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "BLOCKS": 3}, True, "Legal"),
    ],
)
def test_configuration_gets_its_broken_rule_or_its_prediction(changed, passed, sentence):
    verdict = n13.check_configuration(**{**n13.START, **changed})
    assert verdict.passed is passed
    assert sentence in verdict.sentence


def test_a_wide_load_is_not_called_scattered():
    line = (
        "for (int i = thread; i < BK * BN; i += THREADS) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN]"
    )
    wide = line.replace("i = thread", "i = 4 * thread").replace("+= THREADS", "+= 4 * THREADS")
    wide = wide.replace("Bs[", "(float4 &)Bs[").replace("= B[", "= (const float4 &)B[")
    scattered = line.replace("[i / BN][i % BN]", "[i % BK][i / BK]")
    scattered = scattered.replace("i / BN) * N", "i % BK) * N").replace("i % BN]", "i / BK]")
    problem, course = n13.TUNABLE.problem, n13.TUNABLE.solved
    assert line in course
    solved, by_four, down = (
        judge.measured(simulated(course.replace(line, loop), problem.entry), problem, n13.TUNABLE.judged)
        for loop in (line, wide, scattered)
    )
    assert exercise._scattered(by_four, solved) == ""
    assert "a load request to B fetches" in exercise._scattered(down, solved)


def test_a_rule_in_a_function_of_its_own_is_a_rule():
    fits = "constexpr bool fits(int a, int b) { return a % b == 0; }\ntemplate"
    text = n13.TUNABLE.solved.replace("template", fits, 1).replace("BM % TM == 0", "fits(BM, TM)")
    assert n13.TUNABLE.check(text).passed
    without = n13.TUNABLE.check(text.replace("static_assert(fits", "// static_assert(fits")).sentence
    assert "No rule refuses sgemm<36, 64, 8, 8, 4>: 36 is" in without


def test_a_rule_against_what_can_work_is_quoted():
    strict = n13.TUNABLE.solved.replace("BM % TM == 0", "BM % (2 * TM) == 0")
    wordless = strict.replace(', "BM must be a multiple of TM"', "")
    assert "your rule “BM must be a multiple of TM” refuses it" in n13.TUNABLE.check(strict).sentence
    assert "your rule “static_assert(BM % (2 * TM) == 0);” refuses it" in n13.TUNABLE.check(wordless).sentence


def test_a_path_without_return_is_no_empty_body():
    def keep(params, size, sms):
        if n13.keep(params, size, sms):
            return True

    assert "your function returns None, not True or False" in n13.check_keep(keep).sentence
    assert n13.check_keep(lambda *_: None).passed is None


def test_what_a_search_has_not_done_is_not_its_mistake():
    def unguarded(candidates, measure, budget):
        best, known = None, {}
        for candidate in dict.fromkeys(candidates):
            if len(known) < budget:
                known[candidate] = speed = measure(candidate)
                best = (candidate, speed) if speed is not None and (best is None or speed > best[1]) else best
        return best[0]

    assert "cannot be compared" not in n13.check_search(unguarded).sentence
    assert "has measured nothing" in n13.check_search(lambda candidates, *_: candidates[0]).sentence


def test_keep_counts_turns_of_the_gpu_that_it_is_given():
    fixed = n13.KEEP.replace("turns_of_132", ("-(-tiles // sms)", "-(-tiles // 132)"))
    assert not n13.check_keep(fixed).passed


def test_search_in_an_order_of_its_own_is_refused():
    verdict = n13.check_search(lambda candidates, measure, budget: n13.search(sorted(candidates), measure, budget))
    assert "measure in the order of the candidates" in verdict.sentence


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (
            'static_assert(BM % TM == 0, "BM must be a multiple of TM");',
            "sgemm<36, 64, 8, 8, 4>: 36 is no multiple of 8",
        ),
        (
            'static_assert(BN % TN == 0, "BN must be a multiple of TN");',
            "sgemm<32, 60, 8, 8, 8>: 60 is no multiple of 8",
        ),
    ],
)
def test_a_missing_rule_is_told_from_another_one(rule, named):
    sentence = n13.TUNABLE.check(n13.TUNABLE.solved.replace(rule, "")).sentence
    assert "2 of 3 impossible settings" in sentence and sentence.endswith(f"Clue: No rule refuses {named}.")


def test_twice_the_threads_of_a_block_are_refused():
    assert not n13.TUNABLE.check(n13.TUNABLE.solved.replace("THREADS <= 1024", "THREADS <= 2048")).passed
