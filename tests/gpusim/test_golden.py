"""The simulator's C against the GPU's, bit for bit, by the hashes that were recorded on GPUs of this architecture."""

import functools
import hashlib

import numpy as np
import pytest

import gpusim
from gemm_kernels import LADDER, SPECIALISTS, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure import problem
from helpers.recordings.suites import GOLDEN_SHAPES
from helpers.tools.measuring.record import golden_betas, sha256

RECORDED = recordings.of_architecture("golden", devices.DEFAULT)
ROWS = [
    row | {name: recording[name] for name in ("alpha", "seed")} for recording in RECORDED for row in recording["rows"]
]


@functools.lru_cache(maxsize=1)  # the rows are sorted by kernel
def loaded(name, params):
    """The launcher of one kernel, prepared once for all its shapes."""
    return run.load(get(name).replace(**dict(params)))


@pytest.mark.table(keep=40)
@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row['kernel']}-{row['M']}x{row['N']}x{row['K']}-beta{row['beta']}" for row in ROWS]
)
def test_simulated_c_has_the_bits_of_the_gpus(row, monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    M, N, K, beta = (row[name] for name in ("M", "N", "K", "beta"))
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K, row["seed"]))
    if beta == 0.0:
        C[:] = np.nan
    with gpusim.sanitize("off"):  # which looks at all kernels in tests/gemm_kernels
        loaded(row["kernel"], tuple(row["params"].items()))(M, N, K, row["alpha"], A, B, beta, C)
    assert sha256(C) == row["sha256"]


def test_every_kernel_was_recorded_at_every_golden_shape():
    recorded = {(row["kernel"], row["M"], row["N"], row["K"], row["beta"]) for row in ROWS}
    wanted = {
        (kernel.name, *shape, beta)
        for kernel in LADDER + SPECIALISTS
        for shape in GOLDEN_SHAPES
        for beta in golden_betas(*shape)
    }
    missing = sorted(wanted - recorded)
    assert not missing, (
        f"run `python -m helpers.tools.measuring record --suite golden` on a GPU; missing: {missing[:3]} …"
    )


def test_the_hash_is_of_the_bytes_row_by_row():
    C = np.array([[1, 2], [3, 4]], np.float32)
    assert sha256(C) == hashlib.sha256(np.array([1, 2, 3, 4], "<f4").tobytes()).hexdigest()
    assert sha256(np.asfortranarray(C)) == sha256(C) != sha256(C.T)
