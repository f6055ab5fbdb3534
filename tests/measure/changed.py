"""Kernels whose code is newer than what was recorded of them, and why that was not recorded again."""

from collections.abc import Mapping

from gemm_kernels import get
from helpers.measure.provenance import code_sha256

# No H200 has been at hand since then. `vector_matrix` loads 16 bytes of odd rows, too, now, and clusters of blocks add
# its parts, so that its last bits may differ. Of the others `fastest` takes, where rows are odd, less of the same code.
# What was chosen by older times stays.
CHANGED = {"NVIDIA H200": {"vector_matrix", "persistent", "clustered", "reduce_scatter"}}


def changed_since(gpu: str, sources: Mapping[str, str]) -> set[str]:
    """Those kernels whose code has another SHA-256 than was recorded, which must be the ones that CHANGED names."""
    changed = {name for name, sha256 in sources.items() if sha256 != code_sha256(get(name))}
    assert changed <= CHANGED.get(gpu, set()), f"{', '.join(sorted(changed))}: record anew what was measured on {gpu}"
    return changed
