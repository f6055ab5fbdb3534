"""Exercises of notebook 13, autotuning: what the rules allow, good configurations, turns of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from gemm_kernels import get
from gemm_kernels.rules import broken
from gpusim import devices
from gpusim.occupancy import occupancy
from helpers import run
from helpers.exercises.clocks import predict_cold, predict_unsynchronised, predict_warm, predict_zeros
from helpers.exercises.framework import functions, goals, texts
from helpers.exercises.framework.answers import Clue, Verdict, as_line
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.functions import Version
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import ThreadMapOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue, written
from helpers.pictures import theme
from helpers.pictures.traffic import shared_loads_per_fma
from helpers.pictures.tuning import facts as landscape
from helpers.pictures.tuning.model import predict as predicted

DEVICE = devices.DEFAULT
OCCUPANCY, FLOATS = 0.25, 0.10  # goals of `check_configuration`


def predict_legal() -> Prediction:
    """How much of the space obeys the kernel's rules. The answer is counted."""
    every = landscape.space()
    share = sum(not point.broken for point in every) / len(every)
    (lanes,) = (rule for rule in get(landscape.KERNEL).rules if "the lanes of a warp" in rule.sentence)
    alone = sum(not broken((lanes,), point.params) for point in every) / len(every)
    options = {
        "nearly all": "The rules are many, and most of them say that one number divides another.",
        "about a half": f"A single rule, 32 lanes in a warp's tile, forbids {1 - alone:.0%}.",
        "about a quarter": f"32 lanes in a warp's tile alone leave {alone:.0%}. There are more rules.",
        "less than a tenth": "A warp has 32 lanes, tiles must divide tiles, and all threads must have a part to load.",
    }
    answer = next(name for name, least in zip(options, (0.75, 0.375, 0.1, 0.0), strict=True) if share >= least)
    return predict("How much of the space is legal?", options, answer)


@question("legal_configuration", "A configuration that keeps the rules")
def check_configuration(**params: int) -> Verdict:
    """Parameters that obey the rules and are predicted to reach both goals."""
    try:
        kernel = get(landscape.KERNEL).replace(**params)
    except ValueError as error:
        return Verdict(None if params == START else False, str(error))
    prediction = predicted(DEVICE, kernel)
    sentence = (
        f"Legal. Predicted: {prediction.occupancy:.1%} of the warps, {prediction.floats_a_fma:.3f} floats per FMA, "
    )
    sentence += f"limited by {prediction.limiter}."
    if prediction.spills and run.compiled(kernel, DEVICE.arch).local_bytes:
        capped = f"BLOCKS = {kernel.params['BLOCKS']} leaves a thread at most {prediction.registers} of them, and "
        capped *= kernel.params["BLOCKS"] > 1
        return Verdict(False, f"{sentence} Registers spill: {capped}smaller patches need fewer.")
    if prediction.occupancy < OCCUPANCY:
        taken = run.compiled(kernel, DEVICE.arch)
        fits = occupancy(DEVICE, kernel.threads, taken.registers, kernel.shared_bytes).fraction
        if fits < OCCUPANCY or taken.local_bytes:
            return Verdict(False, f"{sentence} At least {OCCUPANCY:.0%} of the warps are wanted.")
        sentence += f" But the compiler takes {taken.registers} registers, not {prediction.registers}: {fits:.1%} fit."
    if prediction.floats_a_fma > FLOATS:
        return Verdict(
            False,
            f"{sentence} At most {FLOATS:.2f} floats per FMA are wanted: a warp reads WM + WN for WM · WN FMAs.",
        )
    return Verdict(True, sentence)


START = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 8, "SLICES": 1, "STAGES": 2, "BLOCKS": 1}


KERNEL = "block_tile_2d"

# --- tiles for a small matrix

SMALL, MOST_LOADS = 512, 0.5
GUESS = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}


def _judge_small(params: Any) -> Verdict:
    """A block for every SM, and still enough use of what is loaded."""
    if not isinstance(params, Mapping) or not params or any(not isinstance(name, str) for name in params):
        return Verdict(False, f"The tile sizes are a dict such as {written(GUESS)}, not {params!r}.")
    kernel = get(KERNEL, **params)
    x, y, _ = kernel.grid(SMALL, SMALL)
    loads = shared_loads_per_fma(kernel.params["TM"], kernel.params["TN"])
    text = (
        f"{theme.plural(x * y, 'block')} for {DEVICE.sms} SMs (at least as many), {loads:.2f} loads per FMA "
        f"(at most {MOST_LOADS:g})"
    )
    if x * y < DEVICE.sms:
        return Verdict(False, f"{text}: {DEVICE.sms - x * y} SMs have nothing to do. Smaller tiles make more blocks.")
    if loads > MOST_LOADS:
        return Verdict(False, f"{text}: a patch of {kernel.params['TM']} × {kernel.params['TN']} loads too much.")
    return Verdict(True, f"{text}: done.")


SMALL_MATRIX = ValueExercise(
    **texts.of("13", "small_matrix", gpu=DEVICE.short, sms=DEVICE.sms, most=512 * 512 // DEVICE.sms),
    difficulty=3,
    variable="tiles",
    starter=GUESS,
    solved={"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 4},
    because="256 blocks of 64 threads: nearly two for every SM, and a patch of 4 × 4 needs 0.5 loads for an FMA.",
    judge=_judge_small,
    wrong=(
        WrongValue({"BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4}, "68 SMs have nothing to do"),
        WrongValue({"BM": 32, "BN": 64, "BK": 8, "TM": 4, "TN": 4}, "4 SMs have nothing to do"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 2, "TN": 2}, "1.00 loads per FMA"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 8, "TN": 8}, "to load Bs in whole passes"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 3}, "BN of TN"),
    ),
)


# --- to write: what is worth measuring, and the search

Params = Mapping[str, int]
Keep = Callable[[Params, int, int], bool]
Search = Callable[[Sequence[Any], Callable[[Any], float | None], int], Any]
WARPS, SUMS, BUSY = (2, 16), 128, 0.6  # warps of a block, sums of a thread, used share of the places in its turns
BY_HAND: tuple[dict[str, int], ...] = tuple(
    dict(zip(("BM", "BN", "WM", "WN", "TM", "TN"), sizes, strict=True))
    for sizes in (
        (128, 256, 64, 64, 16, 8),
        (64, 128, 32, 32, 8, 4),
        (64, 64, 32, 32, 8, 4),
        (32, 32, 32, 32, 8, 4),
        (256, 64, 128, 64, 16, 16),
        (128, 128, 16, 32, 4, 4),
    )
)
HAND_SIZE = 1024


def why_dropped(params: Params, size: int, sms: int) -> str:
    """The first of the three rules that a configuration breaks, "" if it is worth measuring."""
    warps = params["BM"] // params["WM"] * (params["BN"] // params["WN"])
    down, across = -(-size // params["BM"]), -(-size // params["BN"])
    tiles = down * across
    if not WARPS[0] <= warps <= WARPS[1]:
        return f"its block has {theme.plural(warps, 'warp')}"
    if params["TM"] * params["TN"] > SUMS:
        return f"a thread has {params['TM'] * params['TN']} sums"
    places = -(-tiles // sms) * sms
    if tiles < BUSY * places:
        return f"its {down} · {across} tiles (round up) fill only {tiles / places:.0%} of {places} places"
    return ""


UNTOUCHED = "Your function returns None: write its body below the comments, and run the cell again."


def keep(params: Params, size: int, sms: int) -> bool:
    """The course's solution to `check_keep`."""
    return not why_dropped(params, size, sms)


KEEP = Version(
    "solution",
    """def keep(params, size, sms):
    warps = params["BM"] // params["WM"] * (params["BN"] // params["WN"])
    sums = params["TM"] * params["TN"]
    tiles = -(-size // params["BM"]) * -(-size // params["BN"])
    turns = -(-tiles // sms)
    return 2 <= warps <= 16 and sums <= 128 and tiles >= 0.6 * turns * sms""",
)
_TILES = '-(-size // params["BM"]) * -(-size // params["BN"])'
KEEP_MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (KEEP.replace(name, *changes), because)
    for name, changes, because in (
        ("tiles_rounded_down", [(_TILES, 'size // params["BM"] * (size // params["BN"])')],
         "The tiles at the edges of C are left out: round both quotients up."),
        ("tiles_of_the_area", [(_TILES, '-(-size * size // (params["BM"] * params["BN"]))')],
         "The area of C is divided. Tiles at the edges count whole: round up in each direction, then multiply."),
        ("one_direction", [(_TILES, '-(-size // params["BM"])')],
         "Those are the tiles along one side of C alone."),
        ("turns_rounded_down", [("-(-tiles // sms)", "tiles // sms")],
         "What the tiles fill changes no answer: ask for at least 60 % of the places in all turns, "
         "and round the turns up."),
        ("turn_too_many", [("-(-tiles // sms)", "tiles // sms + 1")],
         "Where the tiles are a multiple of the SMs, a turn too many is counted: round the quotient up."),
        ("more_than_60", [(">= 0.6", "> 0.6")], "Exactly 60 % of the places are enough."),
        ("one_turn", [("0.6 * turns * sms", "0.6 * sms")],
         "The tiles are compared with the places of a single turn: each turn has as many places as there are SMs."),
        ("last_turn", [("tiles >= 0.6 * turns * sms", "tiles % sms >= 0.6 * sms")],
         "The last turn alone is looked at: the places of all turns together count."),
        ("one_warp", [("2 <= warps", "1 <= warps")], "A block with a single warp is to be dropped."),
        ("fewer_than_16", [("<= 16", "< 16")], "A block of exactly 16 warps is to be kept."),
        ("fewer_than_128", [("<= 128", "< 128")], "Exactly 128 sums are allowed."),
        ("any_warps", [("2 <= warps <= 16 and ", "")], "The number of warps changes no answer: keep "
        "blocks of 2 to 16 warps."),
        ("any_sums", [("sums <= 128 and ", "")],
         "How many sums a thread has changes no answer: they are TM · TN, and more than 128 leave few "
         "registers for anything else."),
        ("sides_added", [('params["WM"] * (', 'params["WM"] + (')],
         "The warps of a block stand in rows and columns: multiply the two quotients."),
    )
)  # fmt: skip


@cache
def keep_cases() -> tuple[functions.Case, ...]:
    """The six by hand, then every legal configuration at sizes that tiles do not divide, and on GPUs of other sizes.

    Each limit is met exactly: 132 tiles for as many SMs at 1400, and 15 of 25 places, 60 %, at 300. At 600 some tiles
    fill too few of the places that two turns have on other SMs than those of the H200. At 750 some fill more than half
    of one turn, and less than 60 %, so that turns that are rounded to the nearest number drop them.
    """
    cases: list[tuple[Params, int, int]] = [(params, HAND_SIZE, DEVICE.sms) for params in BY_HAND]
    legal = [point.params for point in landscape.space() if not point.broken]
    others = (
        (1400, DEVICE.sms),
        (2049, DEVICE.sms),
        (4096, 108),
        (300, 25),
        (600, 22),
        (700, 20),
        (1500, 8),
        (750, DEVICE.sms),
    )
    cases += [(params, size, sms) for size, sms in others for params in legal]
    return tuple(_keep_case(*case) for case in cases)


def _keep_case(params: Params, size: int, sms: int) -> functions.Case:
    reason = why_dropped(params, size, sms)
    return functions.Case(
        (dict(params), size, sms),
        not reason,
        f"{written(_short(params))} at M = N = K = {size} with {sms} SMs",
        f"it should be dropped: {reason}." if reason else f"it should be kept. {_kept(params, size, sms)}",
    )


@question("keep", "Write it: what is worth measuring")
def check_keep(keep: Keep) -> Verdict:
    """A function of (params, size, sms) that says whether a configuration is worth measuring."""
    cases, decisions = keep_cases(), []
    for case in cases:
        try:
            decisions.append(keep(*case.arguments))
        except Exception as error:
            return Verdict(False, f"{type(error).__name__}: {error}, for {written(_short(case.arguments[0]))}.")
    if all(decision is None for decision in decisions):
        return functions.returns_none(keep, UNTOUCHED)
    if None in decisions:
        return Verdict(False, f"{cases[decisions.index(None)].words}: your function returns None, not True or False.")
    answers = tuple(map(bool, decisions))
    for case, kept in zip(cases, answers, strict=True):
        if kept != case.expected:
            known = functions.explained(answers, cases, KEEP_MISTAKES)
            because = "".join(f"\n{as_line(why)}" for why in known)
            if len(set(answers)) == 1:
                because = f" In fact it {'keeps' if kept else 'drops'} all {len(cases)} that were tried."
            sentence = f"{case.words}: your function {'keeps' if kept else 'drops'} it, but {case.right}"
            return Verdict(False, f"{sentence}{because}")
    return Verdict(
        True, f"Right in {len(cases)} cases, in {sum(answers)} of which the configuration is worth measuring."
    )


def _short(params: Params) -> dict[str, int]:
    return {name: params[name] for name in BY_HAND[0]}


def _kept(params: Params, size: int, sms: int) -> str:
    """The three numbers of a configuration that is worth measuring."""
    warps = params["BM"] // params["WM"] * (params["BN"] // params["WN"])
    down, across = -(-size // params["BM"]), -(-size // params["BN"])
    places = -(-down * across // sms) * sms
    return (
        f"Its block has {theme.plural(warps, 'warp')}, a thread {params['TM'] * params['TN']} sums, and its "
        f"{down} · {across} tiles (round up) fill {down * across / places:.0%} of {places} places."
    )


def search(candidates: Sequence[Any], measure: Callable[[Any], float | None], budget: int) -> Any:
    """The course's solution to `check_search`."""
    cache: dict[Any, float | None] = {}
    for candidate in candidates:
        if candidate in cache:
            continue
        if len(cache) == budget:
            break
        cache[candidate] = measure(candidate)
    right = {candidate: speed for candidate, speed in cache.items() if speed is not None}
    return max(right, key=right.__getitem__, default=None)


SEARCHES: tuple[tuple[tuple[str, ...], Mapping[str, float | None], int, str | None, str], ...] = (
    # candidates, their speeds, the budget, what must be found, and what the case is about
    (("a", "b", "c"), {"a": 3.0, "b": 9.0, "c": 5.0}, 3, "b", "the fastest of three"),
    (("c", "a", "b"), {"a": 5.0, "b": 9.0, "c": 3.0}, 2, "a", "a budget that ends before the candidates do"),
    (("a", "a", "b", "c"), {"a": 3.0, "b": 5.0, "c": 9.0}, 2, "b", "a candidate that comes twice and is measured once"),
    (("a", "b", "c"), {"a": None, "b": 2.0, "c": 1.0}, 3, "b", "a candidate with a wrong result, which gives None"),
    (("a", "b"), {"a": None, "b": None}, 2, None, "no candidate with a right result: the answer is None"),
    (("a", "b"), {"a": 1.0, "b": 2.0}, 5, "b", "a budget that is larger than needed"),
    (
        ("a", "b", "a", "c", "d"),
        {"a": 10.0, "b": None, "c": 30.0, "d": 40.0},
        3,
        "c",
        "a wrong result, which costs a measurement, too",
    ),
)


@question("search", "Write it: a search with a budget")
def check_search(search: Search) -> Verdict:
    """A function of (candidates, measure, budget) that gives the fastest candidate of those it measured."""
    for candidates, speeds, budget, best, about in SEARCHES:
        asked: list[str] = []

        def measure(candidate: str, asked: list[str] = asked, speeds: Mapping[str, float | None] = speeds) -> Any:
            asked.append(candidate)
            return speeds[candidate]

        try:
            result = search(list(candidates), measure, budget)
        except Exception as error:
            because = _why_it_ended(error, [speeds[candidate] for candidate in asked])
            return Verdict(False, f"{type(error).__name__}: {error}. The case: {about}.{because}")
        if not asked:
            measured_nothing = Verdict(False, f"It gives {result!r}, and has measured nothing.")
            return functions.returns_none(search, UNTOUCHED) if result is None else measured_nothing
        case = f"The case: {about}. Candidates {', '.join(candidates)}, budget {budget}."
        if len(asked) > budget:
            return Verdict(False, f"{len(asked)} measurements, but the budget is {budget}. {case}")
        if len(asked) > len(set(asked)):
            return Verdict(False, f"A candidate is measured twice: keep what is known. {case}")
        if asked != list(dict.fromkeys(candidates))[: len(asked)]:
            return Verdict(
                False, f"It measures {', '.join(asked)}: measure in the order of the candidates, none left out. {case}"
            )
        if result != best:
            because = _why_it_found(result, candidates, speeds, budget, asked)
            return Verdict(False, f"It gives {result!r}, expected {best!r}. {case}{because}")
    return Verdict(
        True, f"Right in {len(SEARCHES)} cases: budget, order, repeated candidates and wrong results included."
    )


def _why_it_ended(error: Exception, measured: Sequence[float | None]) -> str:
    """What an error has to do with wrong results, which are None."""
    compared = "not supported between" in str(error) and "NoneType" in str(error)
    if isinstance(error, TypeError) and compared and None in measured:
        return "\nWhy: A wrong result gives None, which cannot be compared with a speed: leave it out."
    if isinstance(error, ValueError) and "empty" in str(error) and measured and not any(measured):
        return "\nWhy: Without a right result there is nothing to take the largest of: return None then."
    return ""


def _why_it_found(
    answer: object, candidates: Sequence[str], speeds: Mapping[str, float | None], budget: int, asked: Sequence[str]
) -> str:
    """The slip by which a search gives another candidate than the fastest that it may measure, if it is a known one."""
    right = [candidate for candidate in asked if speeds[candidate] is not None]
    due = min(budget, len(set(candidates)))
    if len(asked) < due:
        why = f"It measures {len(asked)} of the {due} candidates that the budget allows"
        why += ", the last of them with a wrong result." if speeds[asked[-1]] is None else "."
    elif isinstance(answer, float) and answer in speeds.values():
        why = "That is a speed. Return the candidate that reached it."
    elif answer in asked and answer not in right:
        why = "Its result was wrong: None is no speed, and must not win."
    elif right and answer == min(right, key=speeds.__getitem__) and len(right) > 1:
        why = "That is the slowest of those that were measured."
    elif answer == asked[-1]:
        why = "That is the candidate that was measured last, not the fastest."
    elif answer is None:
        why = "Some results were right: return the fastest of them."
    else:
        return ""
    return f"\n{as_line(Clue(why))}"


def yours(search: Search) -> Search:
    """The learner's search, if it passes; the course's otherwise, so that the notebook goes on."""
    return search if check_search(search).passed else globals()["search"]


# --- a kernel with parameters of its own

PARAMS = ("BM", "BN", "BK", "TM", "TN")
Setting = tuple[int, int, int, int, int]


def entry_of(setting: Setting) -> str:
    """'sgemm<32, 64, 8, 8, 4>'"""
    return f"sgemm<{', '.join(map(str, setting))}>"


def _problem(setting: Setting) -> Gemm:
    BM, BN, BK, TM, TN = setting
    return Gemm(
        entry_of(setting), (BM // TM * (BN // TN),), (BM, BN), Tiles(BM, BN, BK, TM, TN), scaled=False,
        shapes=((BM, 2 * BN, 2 * BK), (2 * BM, BN, 3 * BK)),
    )  # fmt: skip


FIRST: Setting = (32, 64, 8, 8, 4)  # 4 rows of 16 patches, so 64 threads
# 60 threads and patches that no power of two divides, wider than high, so that b[TM] is too small; 1024 threads, the
# most, 32 patches in a row; tiles of 16 k.
OTHERS: tuple[Setting, ...] = ((25, 72, 8, 5, 6), (128, 128, 8, 4, 4), (32, 64, 16, 8, 4))
IMPOSSIBLE: dict[Setting, str] = {
    # The elements of these tiles are a multiple of a patch's, so that a rule about areas alone lets them pass.
    (36, 64, 8, 8, 4): "36 is no multiple of 8",
    (32, 60, 8, 8, 8): "60 is no multiple of 8",
    (128, 256, 8, 4, 4): "tiles of 128 × 256 have 2048 patches of 4 × 4, and a block has at most 1024 threads",
}

TUNABLE = Blank(
    **texts.of("13", "tunable", entry=entry_of(FIRST), others=len(OTHERS), impossible=len(IMPOSSIBLE)),
    difficulty=2,
    problem=_problem(FIRST),
    picture=ThreadMapOf("C", Case({"M": 32, "N": 64, "K": 8}), "your kernel", thread=9),
    goals=(
        goals.refused({entry_of(params): why for params, why in IMPOSSIBLE.items()}),
        *(goals.right_with(_problem(params)) for params in OTHERS),
    ),
    judged=Case({"M": 32, "N": 64, "K": 16}),
    wrong=(
        Wrong("no_rules", "Right where the sizes fit, but no rule refuses those that do not: patches must fill the "
              "tile, BM % TM == 0 and BN % TN == 0, and a block has at most 1024 threads."),
        Wrong("no_limit", "No rule refuses 2048 threads, which a tile of 128 × 256 in patches of 4 × 4 has: a block "
              "has at most 1024."),
        Wrong("sixty_four", "The number of threads is still that of one setting: it follows from the parameters, "
              "(BM / TM) * (BN / TN).", text=r"\b64\b"),
        Wrong("rows_of_sixteen", "A row of patches has BN / TN of them; 16 is right for some settings only.",
              text=r"\b16\b"),
        Wrong("patches_down", "A row of patches has BN / TN of them, not BM / TM."),
        Wrong("not_scaled", "Patches begin TM rows and TN columns apart, not one."),
        Wrong("one_barrier", "A warp that is done may load the next tiles while others still read these: a barrier "
              "belongs at the end of the loop, too."),
        Wrong("depth_of_eight", "The tile has BK steps of k; here 8 of them are multiplied, whatever BK is.",
              text=r"(?s)(?=.*\+= ?BK\b).*< ?8\b"),
        Wrong("four_by_four", "The patch has TM × TN elements, and all of them must be stored, not 4 × 4."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_legal, predict_unsynchronised, predict_cold, predict_warm, predict_zeros)
QUESTIONS = (check_keep, check_search, check_configuration)
EXERCISES = (TUNABLE, SMALL_MATRIX)
