"""The simulator's C against the GPU's, bit for bit, by the hashes that were recorded on a GPU."""

import json

import pytest

from gemm_kernels import LADDER, get
from helpers import gpu
from helpers.measure import problem, recordings
from helpers.measure.record import golden_betas, golden_rows, sha256
from helpers.measure.suites import GOLDEN_SHAPES

ROWS = golden_rows()
SETTINGS = json.loads(recordings.GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row['kernel']}-{row['M']}x{row['N']}x{row['K']}-beta{row['beta']}" for row in ROWS]
)
def test_simulated_c_has_the_bits_of_the_gpus(row, monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    kernel = get(row["kernel"]).replace(**row["params"])
    A, B, C = problem(row["M"], row["N"], row["K"], SETTINGS["seed"])
    before = None if row["beta"] == 0.0 else C
    assert sha256(gpu.multiply(kernel, A, B, before, SETTINGS["alpha"], row["beta"])) == row["sha256"]


def test_every_kernel_of_the_ladder_was_recorded_at_every_golden_shape():
    recorded = {(row["kernel"], row["M"], row["N"], row["K"], row["beta"]) for row in ROWS}
    wanted = {
        (kernel.name, *shape, beta) for kernel in LADDER for shape in GOLDEN_SHAPES for beta in golden_betas(*shape)
    }
    missing = sorted(wanted - recorded)
    assert not missing, f"run `python -m helpers.measure record --suite golden` on a GPU; missing: {missing[:3]} …"


def test_the_hash_is_of_the_bytes_row_by_row():
    import hashlib

    import numpy as np

    C = np.array([[1, 2], [3, 4]], np.float32)
    assert sha256(C) == hashlib.sha256(np.array([1, 2, 3, 4], "<f4").tobytes()).hexdigest()
    assert sha256(np.asfortranarray(C)) == sha256(C) != sha256(C.T)
