"""The benchmark of predictions."""

from __future__ import annotations

import pytest

import gemm_kernels
from helpers import cycles
from helpers.tools.bench import predictions as bench


def test_what_it_times_is_the_prediction_that_a_learner_gets():
    kernel = gemm_kernels.get("coalesced")
    row = bench.took(kernel, 64, "NVIDIA H200", repeats=1)
    assert row.ms == cycles.predict(kernel.launch(64, 64, 64), "NVIDIA H200").ms
    assert all(seconds >= 0 and wall > 0 for seconds, wall in (row.traced, row.predicted))


def test_what_takes_longer_than_it_may_has_a_star(monkeypatch):
    kernel = gemm_kernels.get("coalesced")

    def stars(goal: float) -> int:
        monkeypatch.setattr(bench, "GOALS", dict.fromkeys(bench.GOALS, goal))
        return sum(line.count("*") for line in bench.lines([kernel], 64, "NVIDIA H200", repeats=1))

    assert (stars(0), stars(1e9)) == (2 + bench.STATUS.exists(), 0)


def test_the_command_prints_a_row_for_each_kernel(capsys):
    bench.main(["--size", "32", "--kernels", "naive", "padded", "--repeats", "1"])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[3:5]] == ["naive", "padded"]
    with pytest.raises(SystemExit):
        bench.main(["--size", "large"])
