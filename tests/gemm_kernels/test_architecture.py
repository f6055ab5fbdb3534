"""The architectures that a source can be compiled for, against the compiler."""

import pytest

from gemm_kernels import LADDER, get
from gemm_kernels.architecture import refused
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from tests.gemm_kernels.test_numeric import smaller


@pytest.mark.parametrize("name", [kernel.name for kernel in LADDER if kernel.name == kernel.file])
def test_a_kernel_is_refused_where_the_compiler_refuses_it(name):
    kernel = smaller(name)
    assert not refused(kernel.source, "sm_90") and not refused(kernel.source, "sm_80")
    if reason := refused(kernel.source, "sm_75"):
        assert reason == "uses cp.async, which needs sm_80 or newer"
        with pytest.raises(compiler.CompileError, match="requires .target sm_80 or higher"):
            compiler.compile(kernel.source, kernel.entry, arch="sm_75", options=OPTIONS)
    else:
        compiler.compile(kernel.source, kernel.entry, arch="sm_75", options=OPTIONS)


def test_l2_fetch_of_256_bytes_is_refused_as_by_the_compiler():
    load = 'asm volatile("ld.global.nc.L2::256B.f32 %0, [%1];" : "=f"(*q) : "l"(p));'
    source = f'extern "C" __global__ void fetch(const float *p, float *q) {{ {load} }}'
    assert not refused(source, "sm_80")
    assert refused(source, "sm_75") == "uses .L2::256B, which needs sm_80 or newer"
    with pytest.raises(compiler.CompileError, match="'.L2::256B' requires .target sm_80 or higher"):
        compiler.compile(source, "fetch", arch="sm_75")


@pytest.mark.parametrize("name", ["clustered", "vector_matrix"])
def test_distributed_shared_memory_is_refused_without_clusters(name):
    kernel = get(name)
    assert not refused(kernel.source, "sm_90")
    assert refused(kernel.source, "sm_89") == "uses mapa, which needs sm_90 or newer"
    with pytest.raises(compiler.CompileError, match="__cluster_dims__ is not supported"):
        compiler.compile(kernel.source, kernel.entry, arch="sm_89", options=OPTIONS)


def test_instructions_in_comments_do_not_count():
    assert refused("// cp.async would hide this latency\nx = A[i];", "sm_75") == ""
    assert refused('asm("cp.async.bulk.commit_group;");', "sm_89").startswith("uses cp.async.bulk")


def test_what_hopper_alone_has_is_refused_before_and_after_it():
    source = 'asm volatile("wgmma.fence.sync.aligned;");'
    assert not refused(source, "sm_90a") and not refused(source, "sm_90")
    assert refused(source, "sm_80") == refused(source, "sm_120") == "uses wgmma, which only sm_90a has"
