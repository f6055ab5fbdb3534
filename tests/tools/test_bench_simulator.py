"""The benchmark of the simulator: it runs, checks what it measures, and explains what it cannot measure."""

import pytest

import gemm_kernels
import gpusim
from gpusim import errors
from helpers import run
from helpers.tools.bench import simulator as bench


def test_a_row_gives_the_numbers_of_one_kernel():
    row = bench.measure(gemm_kernels.get("naive"), 16, "ptx", 1)
    assert (
        row.recorded_milliseconds > 0
        and row.checked_milliseconds > 0
        and row.first_use_milliseconds > 0
        and row.peak_megabytes > 0
    )
    with gpusim.record(level="ptx") as recording:
        naive = gemm_kernels.get("naive")
        run.start(bench.load(naive, naive.source), naive.launch(16, 16, 16), *bench.problem(16))
    assert row.instructions == recording.counters["smsp__inst_executed.sum"] > 0


def test_a_wrong_kernel_is_not_measured(monkeypatch):
    load = bench.load
    monkeypatch.setattr(bench, "load", lambda kernel, source: load(kernel, source.replace("B[", "A[")))
    with pytest.raises(gpusim.SimulatorError, match="naive at ptx level computed a wrong C"):
        bench.measure(gemm_kernels.get("naive"), 16, "ptx", 1)


def test_table_has_a_row_per_kernel_and_says_what_cannot_run(monkeypatch, capsys):
    measure = bench.measure

    def only_ptx(kernel, size, level, repeats):
        if level == "sass":
            raise errors.UnsupportedInstruction("The simulator does not know FROB.\nTry ordinary arithmetic.")
        return measure(kernel, size, level, repeats)

    monkeypatch.setattr(bench, "measure", only_ptx)
    bench.main(["--size", "16", "--repeats", "1", "--kernels", "naive", "coalesced"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [
        ["naive", "ptx"], ["naive", "sass"], ["coalesced", "ptx"], ["coalesced", "sass"]
    ]  # fmt: skip
    assert lines[3].endswith("not measured: The simulator does not know FROB.")


def test_without_numba_the_comparison_is_a_sentence():
    (line,) = bench.numba_lines("/no/such/python", 1)
    assert line.startswith("No comparison with Numba: /no/such/python cannot run its CUDA simulator")


def test_each_first_use_launches_a_new_source(monkeypatch):
    naive, start, launched = gemm_kernels.get("naive"), run.start, []
    monkeypatch.setattr(run, "start", lambda kernel, *rest: launched.append(kernel) or start(kernel, *rest))
    bench.held(naive, 2, (16,))
    first, second, *others = (kernel.compiled.source for kernel in launched)
    assert len({first, second, naive.source}) == 3 and set(others) == {naive.source}


def test_the_goals_are_printed_with_a_star_at_what_misses_them(monkeypatch):
    monkeypatch.setitem(bench.GOALS, "recorded", -1.0)
    monkeypatch.setitem(bench.GOALS, "checked", 1000.0)
    naive = gemm_kernels.get("naive")
    heading, columns, goals, row = bench.goal_lines([naive], 1, (16, 32))
    assert columns.split()[:5] == ["kernel", "recorded", "checked", "32", "first"]
    cells = row.split()
    assert cells[0] == "naive" and "*" in cells[1] and "*" not in cells[3]  # each is followed by its time on the wall
    assert 0 < float(cells[-1]) < 100


def test_the_script_for_numba_is_where_the_benchmark_looks():
    assert bench.NUMBA_SCRIPT.exists()
