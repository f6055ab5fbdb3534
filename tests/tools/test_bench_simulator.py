"""The benchmark of the simulator: it runs, and checks what it measures."""

import pytest

import gemm_kernels
import gpusim
from helpers import run
from helpers.tools.bench import simulator as bench


def test_a_wrong_kernel_is_not_measured(monkeypatch):
    load = bench.load
    monkeypatch.setattr(bench, "load", lambda kernel, source: load(kernel, source.replace("B[", "A[")))
    with pytest.raises(gpusim.SimulatorError, match="naive computed a wrong C at 16"):
        bench.held(gemm_kernels.get("naive"), 1, (16,))


def test_each_first_use_launches_a_new_source(monkeypatch):
    naive, start, launched = gemm_kernels.get("naive"), run.start, []
    monkeypatch.setattr(run, "start", lambda kernel, *rest: launched.append(kernel) or start(kernel, *rest))
    bench.held(naive, 2, (16,))
    first, second, *others = (kernel.compiled.source for kernel in launched)
    assert len({first, second, naive.source}) == 3 and set(others) == {naive.source}


def test_the_goals_are_printed_with_a_star_at_what_misses_them(monkeypatch, capsys):
    monkeypatch.setitem(bench.GOALS, "recorded", -1.0)
    monkeypatch.setitem(bench.GOALS, "checked", 1000.0)
    monkeypatch.setattr(bench, "SIZES", (16, 32))
    bench.main(["--kernels", "naive", "--repeats", "1"])
    heading, columns, goals, row = capsys.readouterr().out.splitlines()
    assert columns.split()[:5] == ["kernel", "recorded", "checked", "32", "first"]
    cells = row.split()
    assert cells[0] == "naive" and "*" in cells[1] and "*" not in cells[3]  # each is followed by its time on the wall
    assert 0 < float(cells[-1]) < 100
