"""The choice of kernels by shape: what was searched for or measured is found, and estimated where nothing was."""

import json

import pytest

from gemm_kernels import LADDER, at_shape, autotuned, by_shape, choices, fastest, get, stream_k
from gpusim import devices
from helpers import recordings
from helpers.tools.measuring import choosing

GPU = choices.DEFAULT_GPU
H100 = "NVIDIA H100 80GB HBM3"
RECORDED = json.loads(choices.path(GPU).read_text(encoding="utf-8"))
SHAPES = [tuple(shape) for *shape, _ in RECORDED["fastest"]]
OTHER_SHAPES = [(2, 3, 4), (300, 250, 240), (301, 250, 241), (5000, 17, 3000), (9, 9, 50_000), (3333, 4444, 5555)]
VECTOR_SHAPES = [(1, 1, 1), (1, 5000, 3000), (1, 4095, 17), (5000, 1, 3000), (77, 1, 123_456)]


def estimates(shape):
    """Kernel -> seconds, of all candidates that have costs and suit the shape."""
    choice = choices.of(GPU)
    every = [
        (get(candidate.kernel, **candidate.params), candidate.costs)
        for candidate in choice.candidates
        if candidate.costs
    ]
    return {
        kernel.entry: by_shape.estimate(kernel, costs, shape, choice.sms)
        for kernel, costs in every
        if by_shape.suits(kernel, shape)
    }


def test_recorded_shape_gets_its_fastest_kernel():
    for M, N, K, which in RECORDED["fastest"]:
        expected = RECORDED["candidates"][which]
        assert fastest(M, N, K) == get(expected["kernel"], **expected["params"]).for_rows(N)


@pytest.mark.parametrize("shape", OTHER_SHAPES)
def test_new_shape_gets_the_candidate_with_the_least_estimate(shape):
    assert shape not in SHAPES
    expected = estimates(shape)
    chosen = fastest(*shape)
    assert len(expected) > 10 and min(expected.values()) > 0
    assert chosen == chosen.for_rows(shape[1]) and chosen.name in by_shape.ESTIMATED
    assert expected[chosen.for_rows(4).entry] == min(expected.values())


def test_what_is_chosen_for_odd_rows_has_no_code_for_others():
    chosen = [fastest(*shape) for shape in SHAPES if shape[1] % 2 and fastest(*shape).family.widths]
    assert len(chosen) > 20 and {kernel.widest for kernel in chosen} == {1}


def test_a_gpu_with_less_shared_memory_gets_a_kernel_that_fits():
    for shape in [*SHAPES[:40], *OTHER_SHAPES, *VECTOR_SHAPES]:
        assert fastest(*shape, shared_bytes=101_376).shared_bytes <= 101_376
    assert any(fastest(*shape).shared_bytes > 101_376 for shape in SHAPES[:40])
    with pytest.raises(ValueError, match=r"no kernel .* needs at most 1000 bytes .* The least is \d+"):
        fastest(1025, 1025, 1025, shared_bytes=1000)


def test_an_estimate_is_what_the_amounts_of_work_cost():
    kernel = get("stream_k", WORKERS=0)
    shape = (256, 512, 80)  # two tiles down, two along, ten rounds of 8
    amounts = by_shape.amounts(kernel, shape, sms=3)
    assert amounts == {
        "launch": 1, "rounds": 20, "block_rounds": 20, "tiles": 2, "block_tiles": 2, "odd_launch": 0, "odd_waits": 0,
        "odd_rounds": 0, "odd_tiles": 0, "shared": 0, "parts": 0, "bytes": 4 * (256 * 80 + 80 * 512 + 2 * 256 * 512),
        "bytes_of_c": 8 * 256 * 512,
    }  # fmt: skip
    odd = by_shape.amounts(kernel, (256, 510, 80), sms=3)
    assert [odd[name] for name in ("odd_launch", "odd_waits", "odd_rounds", "odd_tiles")] == [1, 20, 20, 2]
    assert by_shape.estimate(kernel, {"launch": 0.5, "rounds": 0.25}, shape, sms=3) == 0.5 + 20 * 0.25


def test_workers_share_the_rounds_of_the_last_partial_wave():
    kernel = get("stream_k")
    assert kernel.params["WORKERS"] == 132
    four = by_shape.amounts(kernel, (256, 512, 8 * 132), sms=132)  # 4 tiles of 132 rounds for 132 workers
    assert (four["rounds"], four["shared"], four["parts"]) == (4, 1, 33)
    grouped = by_shape.amounts(get("persistent"), (256, 512, 8 * 132), sms=132)  # 33 parts by eights, then five sums
    assert grouped["parts"] == 8 + 33 / 8
    even = by_shape.amounts(kernel, (128 * 132, 256, 80), sms=132)  # one tile for each
    assert (even["rounds"], even["tiles"], even["shared"], even["parts"]) == (10, 1, 0, 0)


def test_cluster_shares_its_rounds_and_needs_room_for_whole_ones():
    kernel = get("clustered", CLUSTER=8)
    p = kernel.params
    assert (p["BM"], p["BN"], p["BK"], p["BLOCKS"]) == (32, 32, 32, 4)
    shared = by_shape.amounts(kernel, (64, 64, 32 * 33), sms=132)  # 4 tiles for 32 blocks; five rounds, or four
    assert (shared["rounds"], shared["block_rounds"], shared["tiles"], shared["parts"]) == (5, 5, 1, 0)
    full = by_shape.amounts(kernel, (32 * 60, 32, 32 * 16), sms=132)  # 480 blocks: four for each of 120 SMs
    assert (full["rounds"], full["block_rounds"]) == (2, 8)
    over = by_shape.amounts(kernel, (32 * 61, 32, 32 * 16), sms=132)  # 488: there is room for 528, but not in clusters
    assert over["rounds"] == 4
    assert by_shape.suits(kernel, (32 * 60, 32, 32 * 16)) and not by_shape.suits(kernel, (32 * 61, 32, 32 * 16))
    assert not by_shape.suits(kernel, (32 * 60, 32, 32 * 16 - 1))  # less than two rounds for each block


def test_reduce_scatter_shares_tiles_and_teams_read_parts():
    kernel = get("reduce_scatter")
    p = kernel.params
    assert (p["BM"], p["BN"], p["BK"], kernel.threads, p["WORKERS"]) == (128, 128, 16, 256, 132)
    even = by_shape.amounts(kernel, (256, 256, 16 * 66), sms=132)  # 4 tiles of 66 rounds, each of 33 blocks
    assert (even["rounds"], even["tiles"], even["shared"]) == (2, 1, 1)
    assert even["parts"] == 17  # 33 parts, of which each of two teams of 128 threads reads half, for 125 float4s
    across = by_shape.amounts(kernel, (128 * 50, 128, 16 * 132), sms=132)  # 50 tiles: a block may have parts of two
    assert (across["rounds"], across["tiles"], across["parts"]) == (50, 1 + 50 / 132, 3)
    assert by_shape.suits(kernel, (256, 256, 16 * 66)) and not by_shape.suits(kernel, (256, 256, 16 * 66 - 1))
    assert not by_shape.suits(kernel, (128 * 12, 128 * 11, 16 * 66))  # a tile for every block


def test_the_loops_are_those_for_the_rows_of_b():
    shapes = SHAPES + OTHER_SHAPES + VECTOR_SHAPES
    chosen = [(shape, kernel) for shape in shapes for kernel in (fastest(*shape), stream_k(*shape))]
    chosen_loops = [(shape, kernel.params["LOOPS"]) for shape, kernel in chosen if kernel.name == "stream_k"]
    assert len(chosen_loops) >= len(shapes)
    assert [(shape, loops) for shape, loops in chosen_loops if loops != (2 if shape[1] % 4 == 0 else 1)] == []


@pytest.mark.parametrize("shape", VECTOR_SHAPES)
def test_one_row_or_column_gets_the_vector_kernels(shape):
    M, N, _ = shape
    assert fastest(*shape).name in ("vector_matrix", "matrix_vector")
    assert fastest(*shape).name == "vector_matrix" or N == 1
    assert fastest(*shape).name == "matrix_vector" or M == 1
    assert stream_k(*shape).name == "stream_k"


def test_stream_k_takes_parameters_of_the_nearest_similar_shape():
    assert stream_k(4096, 4096, 4096) == stream_k(4100, 4000, 4100) == get("stream_k")
    assert stream_k(1025, 1025, 1025).params["LOOPS"] == 1
    assert fastest(4096, 4096, 4096).name == "persistent"


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [((0, 5, 5), "M = 0, but a matrix has"), ((5, -1, 5), "N = -1, but"), ((1, 5, 0), "K = 0, but a matrix has")],
)
@pytest.mark.parametrize("choose", [fastest, stream_k, autotuned])
def test_matrix_without_rows_or_columns_gets_a_sentence(choose, shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose(*shape)


@pytest.mark.parametrize("choose", [fastest, stream_k, autotuned])
def test_unmeasured_gpu_is_answered_with_what_to_do(choose):
    with pytest.raises(
        ValueError, match=r"on 'GPU Y' .* Run `python -m helpers\.tools\.measuring tune` .* 'NVIDIA H200'"
    ):
        choose(64, 64, 64, gpu="GPU Y")
    assert choices.gpus() == (H100, GPU) and "GPU Y" not in choices.gpus()


def test_unmeasured_gpu_names_those_with_choices():
    assert choices.gpus("searched") == choices.gpus("stream_k") == (GPU,) and len(choices.gpus("fastest")) == 2
    for choose in (stream_k, autotuned):
        with pytest.raises(ValueError, match=r"take the choice for another GPU: 'NVIDIA H200'\.$"):
            choose(64, 64, 64, gpu="GPU Y")
    with pytest.raises(ValueError, match=r"another GPU: 'NVIDIA H100 80GB HBM3', 'NVIDIA H200'\.$"):
        fastest(64, 64, 64, gpu="GPU Y")


def test_gpu_with_some_choices_names_the_command_for_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(choices, "FOLDER", tmp_path)
    monkeypatch.setattr(choices, "path", lambda gpu: tmp_path / f"{choices.slug(gpu)}.json")
    (tmp_path / "gpu-x.json").write_text(
        json.dumps({"gpu": "GPU X", "sms": 7, "searched": RECORDED["searched"][:1]}), encoding="utf-8"
    )
    assert dict(autotuned(64, 64, 64, "GPU X").params) == RECORDED["searched"][0]["params"]
    with pytest.raises(
        ValueError, match=r"no kernels were compared on 'GPU X'\. Run `python -m helpers\.tools\.measuring choose`"
    ):
        fastest(64, 64, 64, "GPU X")
    assert at_shape(get("stream_k"), 64, 64, 64, "GPU X") == get("stream_k")


def test_a_searched_shape_gets_what_was_chosen_for_it():
    assert len(RECORDED["searched"]) >= 16
    for row in RECORDED["searched"]:
        assert dict(autotuned(row["M"], row["N"], row["K"]).params) == row["params"]


def test_kernel_without_a_shape_is_that_for_large_matrices():
    assert get("autotuned") == autotuned(4096, 4096, 4096) == autotuned(4000, 4100, 4200)


@pytest.mark.parametrize(
    ("asked", "searched"),
    [((300, 250, 240), (256, 256, 256)), ((1, 5000, 3000), (1, 4096, 4096)), ((60, 4000, 1100), (64, 4096, 1024))],
)
def test_another_shape_gets_what_the_nearest_one_has(asked, searched):
    assert searched in choices.of().searched
    assert choices.searched(*asked) == choices.searched(*searched)


def test_small_matrices_get_slices_and_large_ones_large_tiles():
    small, large = autotuned(256, 256, 256).params, autotuned(8192, 8192, 8192).params
    assert small["SLICES"] > 1 == large["SLICES"]
    assert small["BM"] * small["BN"] < large["BM"] * large["BN"]


def test_only_chosen_kernels_of_the_ladder_stand_for_others():
    shape = (256, 256, 256)
    assert {kernel.name for kernel in LADDER if at_shape(kernel, *shape) != kernel} == {"autotuned", "stream_k"}
    assert {kernel.name for kernel in LADDER if kernel.chosen_by_shape} == {"autotuned", "stream_k"}

    assert at_shape(get("autotuned"), *shape) == autotuned(*shape)
    assert at_shape(get("stream_k"), *shape) == stream_k(*shape)
    changed = get("stream_k", STAGES=4)
    assert at_shape(changed, *shape) == changed


def test_the_last_rung_has_the_parameters_of_the_nearest_shape():
    last = get("persistent")
    assert at_shape(last, 4096, 4096, 4096).entry == fastest(4096, 4096, 4096).entry != last.entry
    assert at_shape(last.replace(STAGES=3), 4096, 4096, 4096).params["STAGES"] == 3
    assert by_shape.persistent(64, 64, 64).tile != by_shape.persistent(8192, 8192, 8192).tile
    assert at_shape(last, 64, 64, 64, "GPU X") == last


def test_variants_are_all_parameters_that_may_be_chosen():
    assert {variant.entry for variant in by_shape.variants(get("autotuned"))} == {
        autotuned(*shape).entry for shape in choices.of().searched
    }
    every = {variant.entry for variant in by_shape.variants(get("stream_k"))}
    assert {stream_k(*shape).entry for shape in SHAPES} <= every and get("stream_k").entry in every
    assert by_shape.variants(get("naive")) == [get("naive")]
    assert by_shape.variants(get("stream_k"), "GPU Y") == [get("stream_k")]


def test_both_packages_have_the_same_default_gpu():
    assert devices.DEFAULT.name == choices.DEFAULT_GPU and choices.of().sms == devices.DEFAULT.sms


def compared(gpu):
    """The candidates that were compared, in the order of their numbers."""
    return [get(row["kernel"], **row["params"]) for row in recordings.read(choices.path(gpu))["candidates"]]


def computed(gpu):
    """What `choose` would write, from what it measured."""
    return choosing.chosen(compared(gpu), choosing.read_measured(gpu), devices.get(gpu).sms)


@pytest.mark.parametrize("gpu", [GPU, H100])
def test_the_choice_is_what_is_computed_from_what_was_measured(gpu, monkeypatch):
    monkeypatch.setattr(choosing, "costs", lambda *about: None)  # which need SciPy
    again, recorded = computed(gpu), recordings.read(choices.path(gpu))
    assert again["fastest"] == recorded["fastest"]
    assert [get(row["kernel"], **row["params"]) for row in again["candidates"]] == compared(gpu)


def test_the_costs_are_what_is_fitted_to_what_was_measured():
    """Of the H100: those of the H200 are of an older fit, which chose what was timed there at unseen shapes."""
    pytest.importorskip("scipy", reason="costs are fitted with SciPy (make tune)")
    measured, sms = choosing.read_measured(H100), devices.get(H100).sms
    kept_ones = recordings.read(choices.path(H100))["candidates"]
    for which, (again, kept) in enumerate(zip(computed(H100)["candidates"], kept_ones, strict=True)):
        assert ("seconds" in again) == ("seconds" in kept)
        if "seconds" in kept:  # the sums: units in one ratio at all of these shapes may share a cost in any way
            kernel = get(kept["kernel"], **kept["params"])
            shapes = [record.shape for record in measured if which in record.times]
            seconds = [
                [by_shape.estimate(kernel, costs["seconds"], shape, sms) for shape in shapes] for costs in (again, kept)
            ]
            assert seconds[0] == pytest.approx(seconds[1], rel=2e-3)


def tried_rightly(kernel, shape):
    """Whether a kernel suits a shape. `clustered` was also tried with blocks for all SMs, before it was known that
    clusters have no room on some of them."""
    if by_shape.suits(kernel, shape):
        return True
    room = kernel.params["BLOCKS"] * by_shape.SMS_OF_CLUSTERS[kernel.params.get("CLUSTER", 1)]
    return kernel.name == "clustered" and room < kernel.grid(*shape[:2])[0] <= 132 * kernel.params["BLOCKS"]


def test_the_trees_are_what_is_fitted_to_what_costs_are_off_by():
    pytest.importorskip("scipy", reason="costs are fitted with SciPy (make tune)")
    measured, sms = choosing.read_measured(H100), devices.get(H100).sms
    again, kept = choosing.trees(compared(H100), measured, sms), choices.of(H100).trees
    assert len(again) == len(kept)
    shape, kernel = SHAPES[40], get("persistent")  # costs have other last digits elsewhere, so that a limit may move
    corrected = [by_shape.corrected({kernel: 1e-5}, shape, sms, trees)[kernel] for trees in (again, kept)]
    assert corrected[0] == pytest.approx(corrected[1], rel=0.1)


FAMILIES = {*by_shape.ESTIMATED}


@pytest.mark.parametrize(("gpu", "come_and_gone"), [(GPU, FAMILIES | {"vector_matrix"}), (H100, set())])
def test_recording_has_every_shape_and_ordered_candidates(gpu, come_and_gone):
    content = recordings.raw(gpu, "choices")
    kernels = compared(gpu)
    assert content["candidates"] == [kernel.entry for kernel in kernels]
    since = {*choosing.candidates(devices.get(gpu).sms)} ^ {*kernels}  # after that recording
    assert {kernel.name for kernel in since} == come_and_gone
    measured, every = choosing.read_measured(gpu), choosing.shapes()
    there = [tuple(shape) for *shape, _ in recordings.read(choices.path(gpu))["fastest"]]
    added = (*every, *choosing.VECTORS)  # by `choose --vectors`, on a GPU whose choice is older
    assert [record.shape for record in measured] == there == [shape for shape in added if shape in there]
    named = every[: -choosing.RANDOM_COUNT - choosing.ODD_DEEP_COUNT - choosing.LIKE_UNSEEN_COUNT]
    assert there[: len(named)] == named  # of the random ones after them a recording may have fewer: device time ends
    for record in measured:
        assert record.times and all(tried_rightly(kernels[which], record.shape) for which in record.times)
        assert set(record.in_graph) <= set(record.times) and min(record.times.values()) > 0
