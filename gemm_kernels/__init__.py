"""The kernels of the course: `LADDER`, `get(name)`, those chosen by shape, launches, and a learner's own kernel;
`gemm` multiplies any matrices, batches and formats in one call, and `conv2d` images."""

from gemm_kernels.by_shape import at_shape, autotuned, fastest, stream_k
from gemm_kernels.kernel import Kernel
from gemm_kernels.ladder import LADDER, SPECIALISTS, UPPER, get
from gemm_kernels.launch import Launch
from gemm_kernels.own import OwnKernel, launch_of
from gemm_kernels.products import conv2d, epilogue, gemm
from gemm_kernels.rules import Rule

__all__ = [
    "LADDER",
    "SPECIALISTS",
    "UPPER",
    "Kernel",
    "Launch",
    "OwnKernel",
    "Rule",
    "at_shape",
    "autotuned",
    "conv2d",
    "epilogue",
    "fastest",
    "gemm",
    "get",
    "launch_of",
    "stream_k",
]
