"""Several shared arrays on one source line: each access of the machine code is held to its own array."""

import weakref

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gpusim import errors
from gpusim.engine import accesses
from gpusim.symbols import match_by_address
from helpers.run import simulated

# WRONG is one too many where the index runs out of its array into the neighbour, and 0 where it does not.
SOURCE = """extern "C" __global__ void kernel(int n, const float *a, float *o) {
    __shared__ float before[256], As[16][16], Bs[16][16], behind[256];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    before[t] = behind[t] = a[t]; As[ty][tx] = a[t]; Bs[ty][tx] = a[255 - t];
    float sum = 0;
    __syncthreads();
    BODY
    __syncthreads();
    o[t] = sum + before[t] + behind[t] + As[15 - ty][15 - tx] - Bs[15 - ty][15 - tx];
}"""
RUNS_OUT = {
    "a product of tiles": "for (int k = 0; k < 16 + WRONG; ++k) sum += As[ty][k] * Bs[k % 16][tx];",
    "a column of a product": "for (int k = 0; k < 16 + WRONG; ++k) sum += As[ty][k % 16] * Bs[k][tx];",
    "a loop of n rounds": "for (int k = 0; k < n + WRONG; ++k) sum += As[ty][k] * Bs[ty][tx];",
    "both with one index": "for (int k = 0; k < n + WRONG; ++k) sum += As[k][tx] * Bs[k][tx];",
    "a pointer kept": "const float *row = As[ty]; for (int k = 0; k < n + WRONG; ++k) sum += row[k] * Bs[ty][tx];",
    "pointers that walk": "const float *p = As[ty], *q = &Bs[0][tx];"
    " for (int k = 0; k < n + WRONG; ++k, ++p, q += 16) sum += *p * *q;",
    "a copy": "sum = As[15][tx + WRONG], Bs[ty][tx] = sum * As[ty][tx];",
    "a store": "if (t < 16) As[15][tx + WRONG] = Bs[15 - ty][tx], Bs[0][tx] = before[t];",
    "two stores": "As[15 - ty][tx + WRONG] = sum; Bs[ty][tx] = sum + 1;",
    "before the array": "sum += Bs[ty][tx - WRONG] * As[ty][tx];",
    "a swizzle": "sum += As[ty][(tx ^ ty) + WRONG] * Bs[ty][tx ^ ty];",
    "half the threads": "if (t % 2) sum += As[ty][tx + WRONG] * Bs[tx][ty];",
    "a choice": "sum += As[ty][(n > 3 ? tx : ty) + WRONG] * Bs[ty][tx];",
    "a number of vectors": "const float4 x = ((float4 *)As)[63 - t % 64 + WRONG], y = ((float4 *)Bs)[t % 64];"
    " sum += x.x * y.y + x.w * y.z;",
    "a stage": "for (int i = 0; i < n; ++i) sum += As[i % 2 * 8 + ty % 8 + 8 * WRONG][tx] * Bs[ty][tx];",
}  # fmt: skip


def launched(body: str, wrong: int, level: str = "sass") -> np.ndarray:
    source = SOURCE.replace("BODY", body.replace("WRONG", str(wrong)))
    rng = np.random.default_rng(1)
    a, o = rng.uniform(-1, 1, 256).astype(np.float32), np.zeros(256, np.float32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((1,), (256,), (np.int32(16), a, o))
    return o


@pytest.mark.parametrize("name", RUNS_OUT)
def test_index_into_the_neighbour_on_its_line_is_found_in_sass(name):
    with pytest.raises(errors.OutOfBounds, match=r"outside (As|Bs)") as caught:
        launched(RUNS_OUT[name], 1)
    assert caught.value.line == 7


@pytest.mark.parametrize("name", RUNS_OUT)
def test_an_index_that_stays_in_its_array_is_accepted(name, level):
    launched(RUNS_OUT[name], 0, level)


def test_reloaded_kernel_is_not_analysed_again(prepared_afresh, monkeypatch):
    launched(RUNS_OUT["a copy"], 0)
    monkeypatch.setattr(match_by_address, "arrays_of", lambda *_: pytest.fail("looked through again"))
    launched(RUNS_OUT["a copy"], 0)


def test_representative_threads_form_warps_where_warps_are_asked():
    kernel = gpusim.RawModule(code=SOURCE.replace("BODY", "")).get_function("kernel")
    sample = match_by_address._Sample(kernel.prepared("sass").program)
    lanes = accesses.by_warp(sample, np.arange(sample.threads)[None])
    assert (lanes == np.arange(sample.threads).reshape(-1, 32)).all()


@pytest.mark.parametrize("arch", ("sm_90", "sm_120"))
def test_store_starting_behind_the_neighbour_keeps_its_own_array(arch):
    """For threads that never come there its index is below zero, which PTX computes as a large 64-bit address."""
    source = (
        'extern "C" __global__ void kernel(int *o) { __shared__ int a[64], b[64]; const int t = threadIdx.x;\n'
        'if (t < 64) { a[t] = t; asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = a[63 - t];'
        ' asm volatile("bar.arrive 3, 128;" ::: "memory"); }'
        ' else { b[t - 64] = t; asm volatile("bar.sync 2, 64;" ::: "memory"); o[t] = b[127 - t];'
        ' asm volatile("bar.sync 3, 128;" ::: "memory"); o[t] += a[t - 64]; } }'
    )
    o = np.zeros(128, np.int32)
    with gpusim.record(level="sass", checks="raise"):
        gpusim.RawModule(code=source, arch=arch).get_function("kernel")((1,), (128,), (o,))
    t = np.arange(128)
    assert (o == np.where(t < 64, 63 - t, 191 - t + t - 64)).all()


@pytest.mark.parametrize("arch", ("sm_80", "sm_90"))
def test_mbarrier_on_the_line_of_an_array_is_not_taken_for_it(arch):
    """On sm_80 the test of one is a load."""
    source = """
    extern "C" __global__ void kernel(int n, const float *a, float *o) {
        __shared__ float s[2][64];
        __shared__ unsigned long long barrier;
        const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), t = threadIdx.x;
        if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
        __syncthreads();
        s[0][t] = a[t], s[1][t] = a[63 - t];
        unsigned long long mine;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(mine) : "r"(at) : "memory");
        TEST
    }"""
    test = (
        'for (unsigned done = 0; !done;) asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2;"'
        ' "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at), "l"(mine) : "memory"); o[t] = s[n][63 - t];'
    )
    a, o = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel = gpusim.RawModule(code=source.replace("TEST", test), arch=arch).get_function("kernel")
    with gpusim.record(level="sass"):
        kernel((1,), (64,), (np.int32(1), a, o))
    assert o.tolist() == a.tolist()


@pytest.mark.parametrize("given", ("first", "second", "third"))
def test_variable_whose_address_a_function_gets_may_lie_anywhere(level, given):
    """The machine code has it behind the others, or where it is declared."""
    source = f"""
    __device__ __noinline__ void put(int *p, int v) {{ *p = v; }}
    extern "C" __global__ void kernel(const int *x, int *out) {{
        __shared__ int first, second, third;
        const int t = threadIdx.x;
        if (t == 0) {{ first = x[0]; second = x[1]; third = x[2]; }}
        if (t == 0) put(&{given}, x[3]);
        __syncthreads();
        out[t] = first + 10 * second + 100 * third;
    }}"""
    x, out = np.array([1, 2, 3, 9], np.int32), np.zeros(64, np.int32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((1,), (64,), (x, out))
    values = {"first": 1, "second": 2, "third": 3} | {given: 9}
    assert set(out.tolist()) == {values["first"] + 10 * values["second"] + 100 * values["third"]}


def test_accesses_that_meet_in_round_one_are_separated_by_two():
    source = """extern "C" __global__ void kernel(int n, const float *a, float *o) {
        __shared__ short before[2][256];
        __shared__ float behind[2][256];
        const int t = threadIdx.x;
        for (int i = 0; i < 2; ++i) before[i][t] = behind[i][t] = a[t];
        __syncthreads();
        float s = 0;
        #pragma unroll 1
        for (int j = 0; j < 512; ++j) s += before[j / 256][j % 256] * behind[j / 256][j % 256 - 256];
        o[t] = s;
    }"""
    kernel = gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")
    assert [array.name for array in kernel.shared_names("sass").arrays] == ["before", "behind"]
    with pytest.raises(errors.OutOfBounds, match=r"outside behind: behind\[-1\]\[0\]"):
        kernel((1,), (256,), (np.int32(0), np.ones(256, np.float32), np.zeros(256, np.float32)))


def test_registers_of_passed_blocks_are_dropped(monkeypatch, prepared_afresh):
    states, living = [], []
    through = match_by_address.Reaches._through

    def counted(self, block, state, reached):
        states.append(weakref.ref(state))
        living.append(sum(each() is not None for each in states))
        return through(self, block, state, reached)

    monkeypatch.setattr(match_by_address.Reaches, "_through", counted)
    launch = get("block_tile_2d").launch(64, 64, 64)
    program = simulated(launch.source, launch.entry, launch.options).forms.sass.program
    match_by_address.Reaches(program, ())
    assert len(program.blocks) > 300 and max(living) < 30
