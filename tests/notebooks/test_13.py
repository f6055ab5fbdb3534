"""Notebook 13: what its prose says of the space, of predictors and of the search is counted and recorded."""

import html
import random
import re

import numpy as np
import pytest

from gemm_kernels import autotuned, get
from gemm_kernels.rules import broken
from helpers import exercises
from helpers.exercises import n13, settings
from helpers.pictures.block_shapes.facts import rank_correlation
from helpers.pictures.tuning import facts as landscape
from helpers.pictures.tuning.search_space import busy, space, suits
from tests.notebooks.support import H200, answered, cells, gain, prose, sources, speeds, suite


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("small_matrix.check", "BM=128, BN=128, BK=8, TM=8, TN=8", "BM=32, BN=32, BK=8, TM=4, TN=4"),
        (
            "exercises.n13.check_configuration",
            '"WM": 64, "WN": 64, "TM": 8, "TN": 8}',
            '"WM": 32, "WN": 32, "TM": 8, "TN": 4}',
        ),
    ],
)
def test_what_a_learner_writes_in_an_exercise_reaches_its_check(call, before, after):
    assert answered("13", call, before, after).passed


def test_the_parameters_and_their_values_are_as_the_prose_says():
    assert {*get(landscape.KERNEL).params} - {*get("warptiled").params} == {"SLICES"}
    assert all(value & (value - 1) == 0 for values in landscape.SPACE.values() for value in values)
    assert get(landscape.KERNEL).params["SLICES"] == 1, "Here it is 1."


def test_most_combinations_break_the_32_lanes_a_tenth_is_legal():
    broken = [choice.broken for choice in landscape.space()]
    assert sum("the lanes of a warp" in rule for rule in broken) > len(broken) / 2
    assert broken.count("") < len(broken) / 10


def test_occupancy_and_floats_per_fma_contradict_each_other():
    predicted = landscape.landscape_of(H200)
    best = {by: predicted.best(by).value(by) for by in ("occupancy", "intensity", "floats_a_fma")}
    winners = {by: [choice for choice in predicted.legal if choice.value(by) == value] for by, value in best.items()}
    occupancy, intensity, floats = winners.values()
    assert not [choice for choice in occupancy if choice in floats]
    assert [choice for choice in occupancy if choice in intensity] and [
        choice for choice in floats if choice in intensity
    ]
    assert {choice.predicted.limiter for choice in floats} == {"spills"}
    assert all(choice.params["TM"] * choice.params["TN"] <= 32 for choice in occupancy), "Occupancy wants small patches"
    assert min(choice.value("floats_a_fma") for choice in occupancy) > 2 * best["floats_a_fma"]


def test_the_picture_below_the_launch_is_of_that_launch():
    (cell,) = (cell for cell in cells("13") if cell.source.startswith("(BM, BN, BK, TM, TN), entry = best"))
    setting, (x, y) = (
        tuple(map(int, re.search(rf"{before}([0-9, ]+)[>)]", cell.outputs[0].text)[1].split(", ")))
        for before in ("sgemm<", r"grid \(")
    )
    assert settings._shown(setting).grid[:2] == (x, y)


def test_model_and_intensity_agree_on_the_best_tile():
    predicted = landscape.landscape_of(H200)
    by_hand = get(landscape.FIRST_GUESS).params
    assert (
        [predicted.best("speed").params[name] for name in ("BM", "BN")] == [by_hand["BM"], by_hand["BN"]] == [128, 256]
    )
    highest = predicted.best("intensity").value("intensity")
    equal = [choice for choice in predicted.legal if choice.value("intensity") == highest and choice.speed]
    assert {(choice.params["BM"], choice.params["BN"]) for choice in equal} == {(128, 256), (256, 128)}
    assert max(choice.speed for choice in equal) > 1.5 * min(choice.speed for choice in equal)


def test_the_large_tile_is_as_bad_at_2304_as_the_speaker_says():
    shares = {size: busy(128, 256, size, size, H200.sms) for size in (2048, 2304)}
    assert shares[2304] < 0.65 and shares[2048] > 0.95


def test_no_predictor_orders_every_size_occupancy_errs_at_4096():
    agree = {by: [] for by in ("occupancy", "intensity", "floats_a_fma")}
    for size in (256, 1024, 4096):
        run = [choice for choice in landscape.landscape_of(H200, size).legal if choice.gflops]
        for by, correlations in agree.items():
            sign = -1 if by == "floats_a_fma" else 1
            correlations.append(
                rank_correlation([sign * choice.value(by) for choice in run], [choice.gflops for choice in run])
            )
    assert all(min(of_predictor) < 0.3 for of_predictor in agree.values())
    assert agree["occupancy"][-1] < -0.3


def test_measured_configurations_are_candidates_but_not_todays():
    candidates = {tuple(candidate.items()): candidate for candidate in space(H200)}
    differ = []
    for size in (256, 1024, 4096):
        run = {tuple(choice.params.items()) for choice in landscape.landscape_of(H200, size).legal if choice.gflops}
        assert run <= candidates.keys()
        differ.append(run != {key for key, candidate in candidates.items() if suits(candidate, (size,) * 3, H200.sms)})
    assert any(differ), "the prose says that *suits* was changed a little after the search"


def test_search_gains_a_sixth_to_a_third_over_the_better_tile():
    assert get("autotuned").source == get("sliced_k").source, "the same kernel"
    sizes = (128, 256, 512, 1024, 2048, 4096)
    gains = {size: min(gain("autotuned", by_hand, size) for by_hand in ("sliced_k", "rasterized")) for size in sizes}
    assert all(1 / 6 < gains[size] < 0.34 for size in (128, 256, 1024))
    assert all(abs(gains[size]) < 0.03 for size in (512, 2048, 4096))
    by_hand = get("rasterized").params
    assert all(by_hand.items() <= autotuned(size, size, size).params.items() for size in (2048, 4096))


def test_small_tiles_win_at_small_sizes_and_large_at_large():
    areas = []
    for size in (128, 256, 512, 1024, 2048, 4096):
        by_hand = {name: gflops for name, gflops in speeds(size).items() if not get(name).chosen_by_shape}
        areas.append(int(np.prod(get(max(by_hand, key=by_hand.get)).tile)))
    assert areas == sorted(areas) and areas[-1] > 4 * areas[0]


def test_six_candidates_by_hand_are_the_checks_and_right():
    rows = re.findall(r"\| (\d) \|" + r" (\d+) × (\d+) \|" * 3 + r" (\d+) \|" * 4, prose("13"))
    numbers = [tuple(map(int, row)) for row in rows]
    assert len(numbers) == len(n13.BY_HAND) == 6
    kept = []
    for params, (number, BM, BN, WM, WN, TM, TN, warps, sums, tiles, places) in zip(n13.BY_HAND, numbers, strict=True):
        assert params == {"BM": BM, "BN": BN, "WM": WM, "WN": WN, "TM": TM, "TN": TN}
        assert warps == (BM // WM) * (BN // WN) and sums == TM * TN and 32 * sums == WM * WN
        assert tiles == -(-n13.HAND_SIZE // BM) * -(-n13.HAND_SIZE // BN)
        assert places % H200.sms == 0 and 0 <= places - tiles < H200.sms
        kept += [number] if n13.keep(params, n13.HAND_SIZE, H200.sms) else []
    assert kept == [2, 3]


def test_each_candidate_by_hand_is_legal_at_some_depth():
    kernel = get(landscape.KERNEL)
    for sizes in n13.BY_HAND:
        depths = ({**kernel.params, **landscape.fixed(), **sizes, "BK": BK} for BK in landscape.SPACE["BK"])
        assert any(broken(kernel.rules, params) is None for params in depths), sizes


@pytest.mark.parametrize(("name", "check"), [("keep", n13.check_keep), ("search", n13.check_search)])
def test_folding_solution_passes_and_an_empty_body_is_not_wrong(name, check):
    (solution,) = re.findall(
        rf'<pre><code class="{name}">(.*?)</code>', "\n".join(sources("13", "markdown")), re.DOTALL
    )
    known = {}
    exec(html.unescape(solution), known)
    assert check(known[name]).passed
    (starter,) = (source for source in sources("13", "code") if source.startswith(f"def {name}("))
    empty = {"exercises": exercises}
    exec(starter, empty)
    assert check(empty[name]).passed is None


def worth(params, size, sms, *, warps=(2, 16), sums=128, up=True, share=0.6, turns=True):
    """The rule with a slip in it."""
    count = params["BM"] // params["WM"] * (params["BN"] // params["WN"])
    down, across = (-(-size // params[side]) if up else size // params[side] for side in ("BM", "BN"))
    places = -(-down * across // sms) * sms if turns else sms
    fits = warps[0] <= count <= warps[1] and params["TM"] * params["TN"] <= sums
    return fits and down * across >= share * places


@pytest.mark.parametrize(
    ("slip", "reason"),
    [
        ({"warps": (1, 16)}, "1 warp"),
        ({"warps": (2, 32)}, "32 warps"),
        ({"warps": (3, 16)}, "2 warps"),
        ({"sums": 256}, "256 sums"),
        ({"sums": 127}, "128 sums"),
        ({"up": False}, "round up"),
        ({"share": 1.0}, "round up"),
        ({"turns": False}, "places"),
        ({"share": 0.95}, "fill 92% of 1056 places"),
    ],
)
def test_pruning_slip_is_answered_by_configuration_and_number(slip, reason):
    verdict = n13.check_keep(lambda params, size, sms: worth(params, size, sms, **slip))
    assert verdict.passed is False and reason.replace(" ", "") in str(verdict).replace("\u00a0", "").replace(" ", "")


@pytest.mark.parametrize(("wrong", "because"), n13.KEEP_MISTAKES, ids=lambda slip: getattr(slip, "name", ""))
def test_a_known_mistake_in_the_pruning_rule_gets_its_own_reason(wrong, because):
    verdict = n13.check_keep(wrong)
    assert verdict.passed is False and verdict.sentence.endswith(
        f"\nClue: A known mistake gives exactly your answers. The answer to it is: “{because}”"
    )


@pytest.mark.parametrize(
    ("change", "every"),
    [
        ((" and ", " or "), "keeps all "),
        (('params["TM"] * params["TN"]', 'params["WM"] * params["WN"]'), "drops all "),
    ],
)
def test_pruning_rule_with_one_answer_gets_no_reason(change, every):
    sentence = n13.check_keep(n13.KEEP.replace("constant", change)).sentence
    assert every in sentence and "Why" not in sentence


def test_turns_to_the_nearest_number_are_not_turns_rounded_down():
    nearest = n13.KEEP.replace("nearest", ("-(-tiles // sms)", "round(tiles / sms)"))
    sentence = n13.check_keep(nearest).sentence
    assert "your function keeps it, but it should be dropped" in sentence and "known mistake" not in sentence


def test_two_mistakes_in_the_pruning_rule_are_both_named():
    both = n13.KEEP.replace("both", ("<= 16", "< 16"), ("sums <= 128 and ", ""))
    assert n13.check_keep(both).sentence.count("\nClue: ") == 2


def greedy(candidates, measure, budget):
    return max(candidates, key=lambda candidate: measure(candidate) or 0)


def forgetful(candidates, measure, budget):
    measured = [(measure(candidate) or 0, candidate) for candidate in candidates[:budget]]
    return max(measured)[1]


def trusting(candidates, measure, budget):
    known = {candidate: measure(candidate) or 0 for candidate in list(dict.fromkeys(candidates))[:budget]}
    return max(known, key=known.get)


def spendthrift(candidates, measure, budget):
    """Counts right results alone."""
    known = {}
    for candidate in dict.fromkeys(candidates):
        if sum(speed is not None for speed in known.values()) == budget:
            break
        known[candidate] = measure(candidate)
    return max((parameters for parameters, speed in known.items() if speed), key=known.get, default=None)


def backwards(candidates, measure, budget):
    return n13.search(candidates[::-1], measure, budget)


def first(candidates, measure, budget):
    measure(candidates[0])
    return candidates[0]


def hasty(candidates, measure, budget):
    """Ends at a wrong result."""
    known = {}
    for candidate in list(dict.fromkeys(candidates))[:budget]:
        if (speed := measure(candidate)) is None:
            break
        known[candidate] = speed
    return max(known, key=known.get, default=None)


def slowest(candidates, measure, budget):
    return n13.search(candidates, lambda candidate: -(measure(candidate) or 0), budget)


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (greedy, "but the budget is"),
        (forgetful, "measured twice"),
        (spendthrift, "4 measurements, but the budget is 3"),
        (trusting, "no candidate with a right result"),
        (backwards, "in the order of the candidates"),
        (first, "expected 'b'"),
        (slowest, "expected 'b'"),
        (lambda: None, "TypeError"),
    ],
)
def test_search_slip_is_answered_with_the_case_that_shows_it(search, reason):
    verdict = n13.check_search(search)
    assert verdict.passed is False and reason in str(verdict)


def of_right(candidates, measure, budget):
    measured = {candidate: measure(candidate) for candidate in list(dict.fromkeys(candidates))[:budget]}
    return {candidate: speed for candidate, speed in measured.items() if speed is not None}


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (lambda *asked: max(of_right(*asked).values(), default=None), "That is a speed."),
        (lambda *asked: min(measured := of_right(*asked), key=measured.get, default=None), "That is the slowest"),
        (lambda *asked: list(of_right(*asked))[-1], "That is the candidate that was measured last"),
        (lambda *asked: max(measured := of_right(*asked), key=measured.get), "Without a right result"),
        (lambda candidates, measure, budget: max(dict.fromkeys(candidates[:budget]), key=measure),
         "It measures 1 of the 2 candidates that the budget allows."),
        (first, "It measures 1 of the 3 candidates that the budget allows."),
        (hasty, "It measures 1 of the 3 candidates that the budget allows, the last of them with a wrong result."),
        (lambda candidates, measure, budget: max(list(dict.fromkeys(candidates))[:budget], key=measure),
         "None, which cannot be compared"),
        (trusting, "Its result was wrong"),
    ],
)  # fmt: skip
def test_a_known_slip_in_the_search_gets_its_own_reason(search, reason):
    verdict = n13.check_search(search)
    assert verdict.passed is False and re.search(rf"\n(?:Why|Clue): .*{re.escape(reason)}", verdict.sentence)


@pytest.mark.parametrize("search", [
    lambda candidates, measure, budget: len([measure(candidate) for candidate in candidates[:budget]]),
    lambda candidates, measure, budget: max({}),
])  # fmt: skip
def test_count_or_empty_search_gets_no_reason_of_results(search):
    assert "Why" not in n13.check_search(search).sentence


def test_body_without_return_is_answered_as_one():
    assert "computes something" in n13.check_search(lambda candidates, *_: print(max(candidates))).sentence


def test_failed_search_is_replaced_and_the_notebook_goes_on():
    assert n13.yours(greedy) is n13.search and n13.yours(n13.search) is n13.search
    other = lambda candidates, measure, budget: n13.search(candidates, measure, budget)  # noqa: E731
    assert n13.yours(other) is other


def test_best_setting_at_4096_beats_notebook_06_by_half():
    assert "half as fast again as the same template" in prose("13")
    patch = exercises.get("patch").solved
    ours = tuple(int(re.search(rf"#define {name} (\d+)", patch)[1]) for name in ("BM", "BN", "BK", "TM", "TN"))
    gflops = settings.speeds(4096)
    assert max(gflops.values()) / gflops[ours] == pytest.approx(1.5, abs=0.03)


def found_in_ten(size, by, pruned=True):
    """The mean share of the best speed that a search of ten measurements finds, in the order of a predictor."""
    tried = list(landscape.landscape_of(H200, size).measured(pruned))
    shares = []
    for seed in range(20):
        random.Random(seed).shuffle(tried)
        values, speeds = (
            [by == "random" or setting.value(by) for setting in tried],
            [setting.gflops for setting in tried],
        )
        order = sorted(range(len(tried)), key=values.__getitem__, reverse=by in ("occupancy", "intensity"))
        shares.append(speeds[n13.search(order, speeds.__getitem__, 10)] / max(speeds))
    return np.mean(shares)


def test_intensity_is_worst_at_1024_and_beats_dice_once_pruned():
    orders = ("random", "occupancy", "intensity", "floats_a_fma")
    for size, pruned in ((1024, False), (1024, True), (4096, True)):
        by_order = {by: found_in_ten(size, by, pruned) for by in orders}
        assert by_order["random"] > 0.9 and by_order["occupancy"] < by_order["random"] < by_order["floats_a_fma"]
        assert (
            by_order["intensity"] > by_order["random"]
            if pruned
            else by_order["intensity"] < by_order["occupancy"] - 0.2
        )


def test_searched_speed_is_not_labelled_as_timed_in_turns():
    searched, in_turns = landscape.landscape_of(H200, 1024).source, suite("ladder").source
    assert searched.startswith(in_turns) and "cost of a launch included" in searched.removeprefix(in_turns)


def test_a_longer_key_costs_a_search_and_a_short_one_speed():
    (cell,) = (cell for cell in cells("13") if cell.source.startswith("for key, name in"))
    printed = re.findall(r"(\d+) measurements, then (\d+)% of the best at 4096", cell.outputs[0].text)
    (long, best), (short, less) = ((int(count), int(share)) for count, share in printed)
    assert (long, short) == (2 * len([*settings.settings()]), len([*settings.settings()]))
    assert best == 100 and less == round(100 * speed_of(512) / max(settings.speeds(4096).values()))


def speed_of(size):
    """At 4096, of the setting that is the best at another size."""
    there = settings.speeds(size)
    return settings.speeds(4096)[max(there, key=there.get)]
