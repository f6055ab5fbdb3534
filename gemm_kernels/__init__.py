"""The kernels of the course: `LADDER`, in order, and `get(name)`."""

from gemm_kernels.kernel import Kernel, Rule
from gemm_kernels.ladder import LADDER, get

__all__ = ["LADDER", "Kernel", "Rule", "get"]
