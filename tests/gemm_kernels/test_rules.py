"""Rules that are read from the sources: the sentences of all static_asserts, and the compiler's verdicts.

The compiler judges many parameter sets in one run: each is an instantiation, and a verdict needs no machine code.
"""

import itertools
import random
import re

import pytest

from gemm_kernels import OwnKernel, rules
from gemm_kernels.ladder import LADDER, SPECIALISTS
from gemm_kernels.launch import OPTIONS
from gpusim.compiler import nvrtc

TEMPLATES = [kernel for kernel in LADDER + SPECIALISTS if kernel.template]
OWN_SOURCE = [kernel for kernel in TEMPLATES if kernel.name == kernel.file]  # autotuned has sliced_k's
IDS = [kernel.name for kernel in TEMPLATES]
VALUES = {
    "T": (0, 1, 7, 16, 32, 33),
    "BM": (0, 16, 64, 96, 100, 128, 256),
    "BN": (0, 16, 64, 96, 100, 128, 256),
    "BK": (0, 1, 2, 4, 8, 12, 16, 64),
    "WM": (0, 16, 32, 64, 128),
    "WN": (0, 8, 32, 64, 128),
    "TM": (0, 1, 2, 4, 6, 8, 16),
    "TN": (0, 1, 2, 4, 6, 8, 16),
    "SLICES": (0, 1, 2, 3, 4, 8),
    "STAGES": (0, 1, 2, 3, 9, 40),
    "BLOCKS": (0, 1, 2, 3, 16),
    "WORKERS": (-1, 0, 1, 132),
    "LOOPS": (0, 1, 2, 3),
    "CLUSTER": (0, 1, 2, 3, 4, 8, 16),
    "WARPS": (0, 1, 3, 16, 32, 64),
    "LOADS": (0, 1, 3, 8),
}
ERRORS_SHOWN = 15  # parameter sets a run, so that NVRTC does not stop before it has said all


def sentences(source):
    return [match.group(1) for match in re.finditer(r'static_assert\([^;]*?"([^"]+)"\)', source)]


def broken_rule(kernel, params):
    """The first rule's sentence that Python finds broken, or None."""
    rule = rules.broken(kernel.rules, params)
    return rule.sentence if rule else None


def candidates(kernel):
    """The defaults, every change of one parameter, and a seeded choice of changes of several."""
    sets = {tuple(kernel.params.values())}
    for name, value in itertools.chain.from_iterable(zip([n] * 9, VALUES[n], strict=False) for n in kernel.params):
        sets.add(tuple((kernel.params | {name: value}).values()))
    chance = random.Random(kernel.name)
    while len(sets) < 60 and len(kernel.params) > 1:
        sets.add(tuple(chance.choice(VALUES[name][1:]) for name in kernel.params))
    return [dict(zip(kernel.params, values, strict=True)) for values in sorted(sets)]


def compilers_verdicts(kernel, sets):
    """For each parameter set the text of the compiler's errors about it."""
    errors = [""] * len(sets)
    for start in range(0, len(sets), ERRORS_SHOWN):
        part = sets[start : start + ERRORS_SHOWN]
        read = rules.read(kernel.source, kernel.function)
        names = [rules.instantiation(read, kernel.function, params) for params in part]
        output = nvrtc.run(kernel.source, "kernel.cu", ("-arch=compute_90", *OPTIONS, "-default-device"), names, {})
        for block in re.split(r"\n(?=kernel\.cu\()", output.log):
            # The last one is the kernel's, which a function that it calls was instantiated from.
            instantiations = re.findall(r"\[with (.*?)\]|template arguments <(.*?)>", block)
            if " error: " in block and instantiations:
                values = tuple(int(number) for number in re.findall(r"-?\d+", "".join(instantiations[-1])))[
                    : len(part[0])
                ]
                errors[start + [tuple(params.values()) for params in part].index(values)] += block
    return errors


@pytest.mark.parametrize("kernel", TEMPLATES, ids=IDS)
def test_sentences_are_those_of_the_static_asserts_in_order(kernel):
    assert [rule.sentence for rule in kernel.rules] == sentences(kernel.source)


@pytest.mark.parametrize("kernel", OWN_SOURCE, ids=lambda kernel: kernel.name)
def test_python_and_compiler_accept_the_same_parameters(kernel):
    sets = candidates(kernel)
    accepted = [params for params in sets if broken_rule(kernel, params) is None]
    assert 1 < len(accepted) < len(sets), "the parameter sets must try both verdicts"
    for params, errors in zip(sets, compilers_verdicts(kernel, sets), strict=True):
        sentence = broken_rule(kernel, params)
        assert bool(errors) == (sentence is not None), f"{params}: Python says {sentence}, the compiler: {errors}"
        if sentence and all(value >= 1 for value in params.values()):
            assert f'static assertion failed with "{sentence}"' in errors, params


@pytest.mark.parametrize("kernel", TEMPLATES, ids=IDS)
def test_replace_refuses_with_the_sentence_what_the_rules_refuse(kernel):
    for params in candidates(kernel)[:12]:
        sentence = broken_rule(kernel, params)
        if sentence is None:
            assert kernel.replace(**params).params == params
        else:
            with pytest.raises(ValueError, match=re.escape(sentence)):
                kernel.replace(**params)


@pytest.mark.parametrize("kernel", TEMPLATES, ids=IDS)
def test_the_parameters_and_the_threads_are_the_sources(kernel):
    read, own = rules.read(kernel.source, kernel.function), {"WIDEST": 4} if kernel.family.widths else {}
    assert read.parameters == (*kernel.params, *own) and dict(read.defaults) == own
    assert read.threads(kernel.params) == kernel.threads
    assert rules.of(kernel.source, kernel.entry) == (read, kernel.params | own)
    if own:
        assert rules.of(kernel.source, kernel.for_rows(7).entry) == (read, kernel.params | {"WIDEST": 1})


@pytest.mark.parametrize("kernel", [*LADDER, *SPECIALISTS], ids=lambda kernel: kernel.name)
def test_the_kernels_of_the_course_obey_their_own_rules(kernel):
    assert rules.broken(kernel.rules, kernel.params) is None


# --- reading ----------------------------------------------------------------------------------------------------------

FIRST = "template <int T, int N> __global__ void other() { static_assert(T > 1000); }"


def holds(condition, before="", inside="", **params):
    """Whether the condition of a static_assert in a kernel holds for these parameters, or None if it is not read."""
    names = ", ".join(f"int {name}" for name in params)
    source = f"""{FIRST} {before}
        template <{names}> __global__ void __launch_bounds__(32) mine(float *C) {{
            {inside} static_assert({condition}, "as" " it" " must be"); }}"""
    asserted = rules.read(source, "mine").asserted
    assert [rule.sentence for rule in asserted] in ([], ["as it must be"])
    return bool(asserted[0].holds(params)) if asserted else None


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("A / B == -3", True), ("A % B == -1", True), ("-A / B == 3", True), ("A / -B == 3", True),
        ("A % -B == -1", True), ("-A % B == 1", True), ("-A / -B == -3", True), ("A / 0 == 0", False),
        ("B == 2 || A / 0", True), ("B != 2 && A / 0", False), ("!(B == 2)", False), ("!0 + !0 == 2", True),
        ("B ? A == -7 : B / 0", True), ("B - 2 ? 0 : A < 0 ? 1 : 0", True), ("(B && 4) + 1 == 2", True),
        ("B + 3 * 4 == 14", True), ("2 - 1 - 1 == 0", True), ("1 << B + 1 == 8", True), ("1 << (B + 1 == 8)", True),
        ("(B & B - 1) == 0", True), ("(6 | 1 ^ 1 & 3) == 6", True), ("~B == -3", True), ("16 / 2 / 2 == 4", True),
        ("sizeof(float) * B == 8u", True), ("sizeof(float4) == 0x10", True), ("1'024 == 02000", None),
        ("true && !false", True), ("T::value > 1", None), ("sizeof(T) == 4", None), ("f(B) > 1", None),
        ("B < 2.5", None),
    ],
)  # fmt: skip
def test_a_condition_means_what_it_means_in_cpp(condition, verdict):
    """Division rounds towards zero there, and a remainder has the sign of the dividend."""
    assert holds(condition, A=-7, B=2) is verdict


def test_constants_of_kernel_file_and_preprocessor_are_known():
    assert holds("ROWS % 2 == 0 && LATER == 9", inside="constexpr int ROWS = T / 4, LATER = ROWS + 1;", T=32)
    assert holds("WARP == 32 && HALF * 2 == WARP", "constexpr int WARP = 32; #define HALF (WARP / 2)\n", T=1) is None
    assert holds("WARP == 32 && HALF * 2 == WARP", "constexpr int WARP = 32;\n#define HALF (WARP / 2) // half\n", T=1)
    assert holds("X == 3", "constexpr int X = 2;", "constexpr int X = 3;", T=1), "the kernel's hides the file's"
    assert holds("X == 3", "constexpr int X = 2;", "constexpr int X = f(T);", T=1) is None, "and is not known"
    assert holds("X / 2 == 1", inside="constexpr float X = 3;", T=1) is None, "it would be 1.5"
    assert holds("X == 3", inside="struct Stage { static constexpr int X = 2; };", T=1) is None


def test_ambiguous_declarations_are_left_to_the_compiler():
    source = '__global__ void mine() { static_assert(1 > 2, "never"); if constexpr (1) { static_assert(0, "inner"); } }'
    assert [rule.sentence for rule in rules.read(source, "mine").asserted] == ["never"]
    assert rules.read(f"#if 1\n#endif\n{source}", "mine") == rules.Rules()
    assert rules.read(source, "yours") == rules.Rules()
    assert rules.read(source.replace("__global__", "__device__"), "mine") == rules.Rules()
    assert rules.read("__global__ void mine(); // declared alone", "mine") == rules.Rules()


def test_no_text_of_a_source_however_odd_stops_the_reading():
    chance = random.Random(1)
    source = TEMPLATES[-3].source
    tokens = re.findall(r"\w+|\W", source[source.index("template") :])
    for _ in range(60):
        start = chance.randrange(len(tokens))
        piece = tokens[start : start + 300]
        chance.shuffle(piece)
        text = "".join(piece)
        for odd in (text, f"template <int T> __global__ void mine({text}", f"__global__ void mine() {{ {text} }}"):
            rules.of(odd, "mine<1>")
            rules.of(odd, "mine")


def test_declared_kernel_with_defaults_and_no_sentence_is_read():
    source = """template <int T = 16, typename V = float>
        __global__ void __launch_bounds__(T * T, 2) mine(V *C) { static_assert(T % 4 == 0); /* "no" ; */ }"""
    read = rules.read(source, "mine")
    assert read.parameters == ("T", "V") and read.threads({"T": 8}) == 64 and read.defaults == (("T", 16),)
    assert [rule.sentence for rule in read.asserted] == ["T % 4 == 0 must hold"]
    assert rules.of(source, "mine<16, float>") == (rules.Rules(), {}), "an argument that is no number"
    source = source.replace("typename V = float", "int V = 3").replace("V *C", "float *C")
    assert rules.of(source, "mine<8>")[1] == {"T": 8, "V": 3}, "what is not given has its default"
    assert rules.of(source, "mine<8, 5>")[1] == {"T": 8, "V": 5} and rules.of(source, "mine<8, 5, 1>")[1] == {}


def test_the_fields_of_a_struct_are_read_as_parameters():
    source = """struct Other { float x; };  struct Params { int BM, BN; int BK; };
        template <Params P, int WIDEST = 4> __global__ void __launch_bounds__(P.BM / 4) mine(float *C) {
            constexpr int BM = P.BM, HALF = P.BN / 2;
            static_assert(BM % 8 == 0 && HALF >= P.BK, "the sentence"); }"""
    read = rules.read(source, "mine")
    assert (read.parameters, read.struct) == (("BM", "BN", "BK", "WIDEST"), "Params")
    assert read.defaults == (("WIDEST", 4),) and read.threads({"BM": 64}) == 16
    params = {"BM": 64, "BN": 8, "BK": 4}
    assert rules.instantiation(read, "mine", params, [2]) == "mine<Params{.BM = 64, .BN = 8, .BK = 4}, 2>"
    for entry in ("mine<Params{.BM = 64, .BN = 8, .BK = 4}, 2>", "mine<Params{64, 8, 4}, 2>"):
        assert rules.of(source, entry) == (read, params | {"WIDEST": 2})
    assert rules.broken(read.asserted, params) is None and rules.broken(read.asserted, params | {"BK": 5})
    for wrong in (
        "mine<Params{.BM = 64, .BN = 8}>",
        "mine<Params{.BM = 64, .XX = 8, .BK = 4}>",
        "mine<Other{1, 2, 3}>",
    ):
        assert rules.of(source, wrong) == (rules.Rules(), {})


def test_failing_static_assert_of_an_own_kernel_is_quoted():
    source = """template <int T> __global__ void __launch_bounds__(T * T)
        mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
            static_assert(T * T <= 1024, "T * T must be at most 1024, the most threads a block can have");
        }"""
    assert OwnKernel(source, "mine<32>", (32, 32)).threads == 1024
    with pytest.raises(ValueError, match=r"mine<33>: T \* T must be at most 1024, .* static_assert of the source"):
        OwnKernel(source, "mine<33>", (33, 33))
