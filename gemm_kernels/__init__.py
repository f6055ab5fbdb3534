"""The kernels of the course: `LADDER`, in order, `get(name)`, and `autotuned(M, N, K)`."""

from gemm_kernels.kernel import Kernel, Rule
from gemm_kernels.ladder import LADDER, autotuned, get

__all__ = ["LADDER", "Kernel", "Rule", "autotuned", "get"]
