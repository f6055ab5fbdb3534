"""The suites for the log of the kernels: where `fastest` loses and why, and what fetching code costs."""

import pytest

import gemm_kernels
from gemm_kernels import get
from gpusim import devices
from helpers import gpu, recordings
from helpers.measure.bench import NoProfiler
from helpers.measure.states import STALL
from helpers.recordings.suites import FASTEST, LOST
from helpers.tools.measuring import fetched, lost

SHAPES = [(5000, 401, 33), (256, 256, 8192)]
LONG_NAMES = {
    "cutlass_80_simt_sgemm_256x128_8x4_nn_align1": "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>"
    "(T1::Params)",
    "tilesize128x32x8_stage3": "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x32x8_stage3_warpsize2x2x1_ffma_"
    "aligna4_alignc4_execute_kernel__5x_cublas",
    "splitKreduce_kernel": "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float>(cublasSplitKParams<T6>)",
    "cublasGemvParams": "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, float, "
    "cublasGemvParams<cublasGemvTensor<const float>>>(T13)",
}


@pytest.fixture(autouse=True)
def on_an_h200(monkeypatch):
    monkeypatch.setattr(gpu, "name", lambda: devices.DEFAULT.name)


def launched(name, **values):
    """What ncu reports of a launch: every metric as it writes numbers."""
    row = dict.fromkeys(lost.METRICS, "1.5") | {"Kernel Name": name}
    return (
        row
        | {lost.TIME: "16,500", lost.ACTIVE: "75", lost.ELAPSED: "100", lost.BLOCKS: "1,027", lost.THREADS: "64"}
        | values
    )


def both(shape, *theirs):
    kernel = gemm_kernels.fastest(*shape)
    return [launched(f"void {kernel.function}<(int)64>(int, int)"), *(launched(LONG_NAMES[name]) for name in theirs)]


def test_row_is_kept_of_our_launch_and_each_of_cublass():
    names = ["tilesize128x32x8_stage3", "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", "splitKreduce_kernel"]
    rows = list(lost.rows_of([*both(SHAPES[0], names[0]), *both(SHAPES[1], *names[1:])], SHAPES))
    assert [row["who"] for row in rows] == ["ours", "cublas", "ours", "cublas", "cublas"]
    assert [tuple(row["shape"]) for row in rows] == [SHAPES[0]] * 2 + [SHAPES[1]] * 3
    assert [row["kernel"] for row in rows if row["who"] == "cublas"] == names
    assert rows[0]["kernel"] == gemm_kernels.fastest(*SHAPES[0]).short
    assert (rows[0]["us"], rows[0]["sms_active"], rows[0]["blocks"]) == (16.5, 75.0, 1027)


def test_a_gemv_of_cublas_is_found_by_the_type_of_its_arguments():
    (_, row) = lost.rows_of(both((1, 4096, 4096), "cublasGemvParams"), [(1, 4096, 4096)])
    assert row["kernel"] == "cublasGemvParams"


def test_ffmas_are_a_share_and_the_longest_waits_come_first():
    launch_row = launched(
        "void sgemm_persistent<(int)1>()",
        **{lost.INSTRUCTIONS: "1,000", lost.FFMAS: "16,000", STALL.format("barrier"): "3", STALL.format("wait"): "2"},
    )
    row = next(lost.rows_of([launch_row, launched("gemvNSP_kernel")], [(64, 64, 64)]))
    assert row["ffma"] == 50 and [*row["waits"]][:2] == ["barrier", "wait"] and len(row["waits"]) == lost.WAITS


@pytest.mark.parametrize(
    "names",
    [[], ["void sgemm_rank_k<(int)1>()"], ["splitKreduce_kernel", "void sgemm_rank_k<(int)1>()", "gemv_kernel"]],
    ids=["nothing", "cuBLAS missing", "cuBLAS first"],
)
def test_launches_in_another_order_are_refused_with_their_names(names):
    with pytest.raises(NoProfiler, match=r"for 1 shape\(s\), ours first"):
        list(lost.rows_of([launched(name) for name in names], [(64, 64, 64)]))


def test_profiles_of_other_shapes_stay_with_their_runs(tmp_path):
    file = tmp_path / "lost.json"
    for date, shapes in (("first", ([1, 1, 1], [2, 2, 2])), ("second", ([2, 2, 2],)), ("third", ([3, 3, 3],))):
        rows = [{"shape": shape, "us": date} for shape in shapes]
        recordings.write(file, lost.with_earlier(file, "GPU X", {"date": date}, rows))
    content = recordings.read(file)
    times = [(row["shape"][0], row["us"]) for row in content["rows"]]
    assert times == [(1, "first"), (2, "second"), (3, "third")]
    assert content["provenance"] == {"date": "third", "earlier": [{"date": "first"}, {"date": "second"}]}


@pytest.mark.parametrize("name", recordings.gpus(suites=(FASTEST,)))
def test_shapes_where_fastest_lost_were_profiled(name):
    profiled = {tuple(row["shape"]) for row in recordings.raw(name, LOST)["rows"]}
    assert {*lost.lost_shapes(name)} <= profiled, (
        "run `python -m helpers.tools.measuring record --suite lost` on that GPU"
    )


def test_every_change_of_persistent_can_be_made_to_todays_source():
    source = get("persistent").source
    changed = {what: fetched.changed(source, what) for what in fetched.CHANGES}
    assert (
        len({source, *changed.values()}) == 1 + len(fetched.CHANGES) and fetched.changed(source, fetched.NOW) == source
    )
    assert {what for *_, every in fetched.IN_TURNS for what in every} == {*fetched.CHANGES}
    with pytest.raises(ValueError, match="0 times: 'unrolled strips' cannot be tried"):
        fetched.changed(changed[fetched.UNROLLED], fetched.UNROLLED)


def test_profile_says_how_often_warps_waited_for_instructions():
    values = {fetched.TIME: "92,900", fetched.ISSUING: "64.94", fetched.NO_INSTRUCTION: "0.436"}
    rows = list(fetched.profiled([values] * len(fetched.PROFILED)))
    assert [(row["us"], row["issuing"], row["no_instruction"]) for row in rows] == [(92.9, 64.9, 0.44)] * len(rows)
    recorded = recordings.raw(devices.DEFAULT.name, "fetched")["profiled"]
    assert [(row["kernel"], row["shape"]) for row in rows] == [(row["kernel"], row["shape"]) for row in recorded]
    with pytest.raises(NoProfiler, match="reported 1 launches"):
        list(fetched.profiled([values]))


def test_what_was_timed_in_turns_was_recorded_for_every_change():
    recorded = recordings.raw(devices.DEFAULT.name, "fetched")["in_turns"]
    wanted = {
        (what, kernel.short, *shape) for kernel, shape, changes in fetched.IN_TURNS for what in (fetched.NOW, *changes)
    }
    assert {(row["what"], row["kernel"], *row["shape"]) for row in recorded} == wanted
