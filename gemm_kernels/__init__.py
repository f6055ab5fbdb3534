"""The kernels of the course: `LADDER`, in order, `get(name)`, `autotuned(M, N, K)` and `fastest(M, N, K)`."""

from gemm_kernels.dispatch import fastest
from gemm_kernels.kernel import Kernel, Rule
from gemm_kernels.ladder import LADDER, VECTORS, autotuned, get

__all__ = ["LADDER", "VECTORS", "Kernel", "Rule", "autotuned", "fastest", "get"]
