"""The kernels of the course: `LADDER`, in order, `get(name)`, `fastest(M, N, K)`; launches; a kernel of one's own."""

from gemm_kernels.dispatch import fastest
from gemm_kernels.kernel import Kernel, Rule
from gemm_kernels.ladder import LADDER, VECTORS, autotuned, get
from gemm_kernels.launch import Launch
from gemm_kernels.own import OwnKernel, launch_of

__all__ = [
    "LADDER",
    "VECTORS",
    "Kernel",
    "Launch",
    "OwnKernel",
    "Rule",
    "autotuned",
    "fastest",
    "get",
    "launch_of",
]
