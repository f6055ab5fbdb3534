"""What kernels ask of the system beside arithmetic and memory: clocks, the heap, addresses, votes for one of a warp."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from helpers import gpu

HALVES = "#include <cuda_fp16.h>\n"


def run(body: str, parameters: str, *args, threads: int = 32, before: str = "", blocks: int = 1, name: str = "sass"):
    module = gpusim.RawModule(code=f'{before}extern "C" __global__ void k({parameters}) {{ {body} }}')
    with gpusim.record(level=name):
        module.get_function("k")((blocks,), (threads,), args)


def test_a_clock_goes_on_from_one_instruction_to_the_next():
    taken = np.zeros(32, np.int64)
    run("long long start = clock64(); __syncthreads(); o[threadIdx.x] = clock64() - start;", "long long* o", taken)
    assert (taken > 0).all()


def test_a_clock_of_32_bits_and_the_global_timer_go_on():
    taken = np.zeros((2, 32), np.int64)
    body = """
        long long first, last;
        int start = clock();
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
        __syncthreads();
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last));
        o[threadIdx.x] = clock() - start;
        o[32 + threadIdx.x] = last - first;"""
    run(body, "long long* o", taken)
    assert (taken > 0).all()


def test_blocks_are_dealt_out_to_the_multiprocessors_one_by_one():
    numbers = np.zeros(140, np.int32)
    body = 'int n; asm("mov.u32 %0, %%smid;" : "=r"(n)); o[blockIdx.x] = n;'
    run(body, "int* o", numbers, blocks=140)
    assert np.array_equal(numbers, np.arange(140) % 132)


@pytest.mark.parametrize(("arch", "sms", "warps"), [("sm_75", 40, 32), ("sm_90", 132, 64), ("sm_120", 170, 48)])
def test_kernel_reads_its_counts_of_sms_warps_and_memory(level, arch, sms, warps):
    registers = ("%nsmid", "%nwarpid", "%warpid", "%dynamic_smem_size")
    asks = "".join(
        f'asm("mov.u32 %0, %{name};" : "=r"(n)); o[4 * threadIdx.x + {k}] = n;' for k, name in enumerate(registers)
    )
    source = f'extern "C" __global__ void kernel(int *o) {{ int n; {asks} }}'
    kernel, o = gpusim.RawModule(code=source, arch=arch).get_function("kernel"), np.zeros((96, 4), np.int32)
    with gpusim.record(level=level):
        kernel((1,), (96,), (o,), shared_mem=1234)
    assert o.tolist() == [[sms, warps, thread // 32, 1234] for thread in range(96)]


@pytest.mark.parametrize("get", ["new int[4]", "static_cast<int*>(malloc(16))"])
def test_every_thread_has_memory_of_its_own_from_the_heap(get):
    sums = np.zeros(64, np.int32)
    body = f"""
        int* mine = {get};
        for (int i = 0; i < 4; ++i) mine[i] = threadIdx.x + i;
        o[threadIdx.x] = mine[0] + mine[1] + mine[2] + mine[3];
        {"delete[] mine" if "new" in get else "free(mine)"};"""
    run(body, "int* o", sums, threads=64)
    assert np.array_equal(sums, 4 * np.arange(64) + 6)


def test_loop_of_new_and_delete_does_not_run_out():
    last = np.zeros(1, np.int32)
    body = """
        for (int i = 0; i < 40; ++i) {
            char* mine = static_cast<char*>(malloc(1 << 20));
            if (mine == nullptr) { o[0] = -1; return; }
            mine[i] = i;
            o[0] = mine[i];
            free(mine);
        }"""
    run(body, "int* o", last, threads=1)
    assert last[0] == 39


def test_a_full_heap_answers_with_a_null_pointer():
    got = np.full(32, -1, np.int32)
    run("o[threadIdx.x] = malloc(1 << 20) != nullptr;", "int* o", got)
    assert got.sum() == 8  # of the default 8 MB


def test_memory_that_is_freed_twice_is_named():
    with pytest.raises(errors.KernelError, match="freed memory that malloc did not give, or that was freed before"):
        run(
            "char* p = new char[4]; o[0] = p[0] = 1; delete[] p; delete[] p;",
            "int* o",
            np.zeros(1, np.int32),
            threads=1,
        )


def test_a_struct_may_hold_the_addresses_of_arrays():
    A, B = gpu.asarray(np.arange(32, dtype=np.float32)), gpu.zeros(32, np.float32)
    pair = np.zeros((), np.dtype([("a", "u8"), ("b", "u8")]))
    pair["a"], pair["b"] = A.data.ptr, B.data.ptr
    run("p.b[threadIdx.x] = 2 * p.a[threadIdx.x];", "Pair p", pair[()], before="struct Pair { float* a; float* b; };\n")
    assert np.array_equal(B, 2 * A)


def test_an_array_may_hold_the_addresses_of_arrays():
    A, B, C = (gpu.asarray(np.arange(32, dtype=np.float32) * n) for n in (1, 2, 0))
    where = gpu.asarray(np.array([A.data.ptr, B.data.ptr], np.uint64))
    run("o[threadIdx.x] = v[0][threadIdx.x] + v[1][threadIdx.x];", "float** v, float* o", where, C)
    assert np.array_equal(C, 3 * A)


def test_an_address_may_stand_for_its_array_and_its_end_is_known():
    A = gpu.zeros(32, np.float32)
    run("v[threadIdx.x] = 1;", "float* v", A.data.ptr)
    assert A.sum() == 32
    with pytest.raises(errors.OutOfBounds, match="has 32 elements"):
        run("v[threadIdx.x + 32] = 1;", "float* v", A.data.ptr)


def test_a_number_that_is_no_address_is_refused():
    with pytest.raises(errors.ArgumentError, match="is a pointer: pass an array"):
        run("v[0] = 1;", "float* v", 12345)


def test_elect_chooses_one_lane_of_each_warp():
    chosen = np.zeros(64, np.int32)
    body = """
        int one;
        asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p;}" : "=r"(one));
        o[threadIdx.x] = one;"""
    run(body, "int* o", chosen, threads=64)
    assert np.array_equal(np.flatnonzero(chosen), [0, 32])


def test_one_atomic_may_update_two_arrays():
    even, odd = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run("atomicAdd(threadIdx.x & 1 ? b : a, (int)threadIdx.x);", "int* a, int* b", even, odd)
    assert (even[0], odd[0]) == (240, 256)


def test_a_vector_of_floats_is_added_by_one_atomic():
    sums = np.zeros(8, np.float32)
    old = np.zeros(256, np.float32)
    body = """
        atomicAdd(o + threadIdx.x % 2, make_float4(1, 2, 3, 4));
        __syncthreads();
        q[threadIdx.x] = atomicAdd(o, make_float4(0, 0, 0, 0));"""
    run(body, "float4* o, float4* q", sums, old, threads=64)
    assert np.array_equal(sums, np.tile(np.float32([32, 64, 96, 128]), 2))
    assert np.array_equal(old.reshape(64, 4), np.tile(np.float32([32, 64, 96, 128]), (64, 1)))


@pytest.mark.parametrize("space", ["global", "shared"])
def test_two_halves_are_added_by_one_atomic_wherever_they_lie(space):
    sums = np.zeros(2, np.float16)
    where = "__shared__ __half2 s; __half2* o = &s; if (!threadIdx.x) s = __half2(0, 0); __syncthreads();"
    body = f"""
        {where if space == "shared" else "__half2* o = result;"}
        atomicAdd(o, __half2(1, 2));
        {"__syncthreads(); if (!threadIdx.x) *result = s;" if space == "shared" else ""}"""
    run(body, "__half2* result", sums, before=HALVES)
    assert sums.tolist() == [32, 64]


def test_bytes_are_permuted_in_every_mode_as_the_ptx_manual_says(level):
    # PTX ISA, 'prmt', table of modes: the bytes of (b:a), most significant first, for each selector.
    manual = {
        "f4e": ("3210", "4321", "5432", "6543"), "b4e": ("5670", "6701", "7012", "0123"),
        "rc8": ("0000", "1111", "2222", "3333"), "ecl": ("3210", "3211", "3222", "3333"),
        "ecr": ("0000", "1110", "2210", "3210"), "rc16": ("1010", "3232", "1010", "3232"),
    }  # fmt: skip
    a, b = 0x13121110, 0x17161514
    for mode, rows in manual.items():
        counts = np.zeros(4, np.uint32)
        body = f'unsigned d; asm("prmt.b32.{mode} %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(threadIdx.x));'
        run(body + " o[threadIdx.x] = d;", "unsigned* o, unsigned a, unsigned b", counts, np.uint32(a), np.uint32(b),
            threads=4, name=level)  # fmt: skip
        assert [f"{value:08x}" for value in counts] == ["".join(f"1{byte}" for byte in row) for row in rows], mode


def test_relocatable_code_of_one_file_runs_like_any_other():
    module = gpusim.RawModule(
        code="__device__ int v[4] = {1, 2, 3, 4};\n"
        'extern "C" __global__ void k(int* o) { o[threadIdx.x] = v[threadIdx.x]; }',
        options=("-rdc=true",),
    )
    counts = np.zeros(4, np.int32)
    module.get_function("k")((1,), (4,), (counts,))
    assert counts.tolist() == [1, 2, 3, 4]
