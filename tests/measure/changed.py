"""Kernels whose code is newer than what was recorded of them, and why that was not recorded again."""

from collections.abc import Mapping

from gemm_kernels import get
from helpers.measure.provenance import code_sha256

# Where rows are odd, `fastest` takes less of the same code of these, now. What was chosen by older times stays.
CHANGED = {"NVIDIA H200": {"persistent", "clustered", "reduce_scatter"}}


def changed_since(gpu: str, sources: Mapping[str, str]) -> set[str]:
    """Those kernels whose code has another SHA-256 than was recorded, which must be the ones that CHANGED names."""
    changed = {name for name, sha256 in sources.items() if sha256 != code_sha256(get(name))}
    assert changed <= CHANGED.get(gpu, set()), f"{', '.join(sorted(changed))}: record anew what was measured on {gpu}"
    return changed
