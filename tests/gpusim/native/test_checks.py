"""The compiled engine's watch over memory: requests that reach several arrays, or none at all."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled, plans
from helpers import gpu

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
BETWEEN = 1 << 24  # floats: whoever looks up a place of the one array in the other finds nothing that is ours


def watched(source: str, grid: int, threads: int, *arguments: object) -> None:
    with gpusim.record(level="sass", checks=True):
        gpu.RawKernel(source, "k")((grid,), (threads,), arguments)


@pytest.fixture
def alone(monkeypatch):
    """The compiled engine has nobody to ask."""

    def refuse(*_):
        raise AssertionError("executed by the engine in NumPy")

    monkeypatch.setattr("gpusim.engine.run._run_wave", refuse)


def test_lanes_of_a_request_are_watched_in_the_array_they_reach():
    near, between, far = gpu.zeros(64, np.float32), gpu.empty(BETWEEN, np.float32), gpu.zeros(64, np.float32)
    source = """
        extern "C" __global__ void k(float* near, const float* between, float* far) {
            float* mine = threadIdx.x & 1 ? far : near;
            mine[blockIdx.x * 32 + threadIdx.x] = 1 + blockIdx.x;
        }"""
    watched(source, 2, 32, near, between, far)
    both = np.stack([gpu.asnumpy(near), gpu.asnumpy(far)]).reshape(2, 2, 32)
    expected = np.zeros((2, 2, 32), np.float32)
    expected[0, :, ::2] = expected[1, :, 1::2] = [[1], [2]]
    assert np.array_equal(both, expected)


def test_a_race_in_the_second_array_of_a_request_is_found():
    near, between, far = gpu.zeros(64, np.float32), gpu.empty(BETWEEN, np.float32), gpu.zeros(64, np.float32)
    source = """
        extern "C" __global__ void k(float* near, const float* between, float* far) {
            float* mine = threadIdx.x & 1 ? far : near + 32 * blockIdx.x;
            mine[threadIdx.x] = 1 + blockIdx.x;
        }"""
    with pytest.raises(errors.RaceError, match="far"):
        watched(source, 2, 32, near, between, far)


def test_copy_of_no_bytes_does_not_watch_its_source():
    given, result = gpu.ones(32, np.float32), gpu.zeros(32, np.float32)
    source = """
        extern "C" __global__ void k(const float* given, float* result) {
            __shared__ float s[32];
            unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
            bool inside = threadIdx.x < 20;
            const float* from = given + (inside ? threadIdx.x : 1 << 24);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(from), "r"(inside ? 4 : 0));
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
            result[threadIdx.x] = s[threadIdx.x];
        }"""
    watched(source, 1, 32, given, result)
    assert gpu.asnumpy(result).tolist() == [1] * 20 + [0] * 12


# The load of the round after the last one finds what nobody wrote.
LOADS_AHEAD = """
    __device__ float shared_at(const float* from) {
        float value;
        asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(value) : "r"((unsigned)__cvta_generic_to_shared(from)));
        return value;
    }
    extern "C" __global__ void k(float* sums, int rounds) {
        __shared__ float s[160];
        for (int i = 0; i < rounds; ++i) s[32 * i + threadIdx.x] = 1;
        __syncthreads();
        float sum = 0, next = shared_at(s + threadIdx.x);
        #pragma unroll 1
        for (int i = 1; i <= rounds; ++i) {
            sum += next;
            next = shared_at(s + 32 * i + threadIdx.x);
        }
        sums[threadIdx.x] = sum;
    }"""


@pytest.mark.usefixtures("alone")
def test_value_loaded_ahead_and_dropped_needs_no_second_run():
    sums = gpu.zeros(32, np.float32)
    watched(LOADS_AHEAD, 1, 32, sums, np.int32(4))
    assert gpu.asnumpy(sums).tolist() == [4] * 32


def test_a_value_that_is_loaded_ahead_and_used_is_found():
    with pytest.raises(errors.UninitializedRead, match="next"):
        watched(LOADS_AHEAD.replace("= sum;", "= sum + next;"), 1, 32, gpu.zeros(32, np.float32), np.int32(4))


# Each block stores a part, and the one that comes last adds them.
HANDS_OVER = """
    extern "C" __global__ void k(float* parts, unsigned* arrived, float* sums) {
        __shared__ bool last;
        parts[blockIdx.x * blockDim.x + threadIdx.x] = 1 + blockIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __syncthreads();
        if (!last) return;
        float sum = 0;
        for (unsigned block = 0; block < gridDim.x; ++block) sum += parts[block * blockDim.x + threadIdx.x];
        sums[threadIdx.x] = sum;
    }"""


def arrays() -> tuple[object, ...]:
    return gpu.zeros(256, np.float32), gpu.zeros(1, np.uint32), gpu.zeros(64, np.float32)


@pytest.mark.usefixtures("alone")
def test_parts_ordered_by_fence_and_atomic_need_no_second_run():
    parts, arrived, sums = arrays()
    watched(HANDS_OVER, 4, 64, parts, arrived, sums)
    assert gpu.asnumpy(sums).tolist() == [10] * 64


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(
    "slip",
    [
        ("        __threadfence();\n", ""),  # what was stored may come after the count
        ("        __threadfence();\n        __syncthreads();\n        if", "        __threadfence();\n        if"),
        ("= atomicAdd(arrived, 1) == gridDim.x - 1", "= blockIdx.x == gridDim.x - 1"),
        (
            "        __threadfence();\n",
            "        __threadfence();\n        parts[blockIdx.x * blockDim.x + threadIdx.x] += 1;\n",
        ),
    ],
    ids=["no fence", "no barrier before the count", "nobody counts", "a store behind the fence"],
)
def test_handing_over_parts_without_one_of_the_steps_is_a_race(slip):
    assert HANDS_OVER.count(slip[0]) == 1
    with pytest.raises(errors.RaceError, match="parts"):
        watched(HANDS_OVER.replace(*slip), 4, 64, *arrays())


# Threads of four warps write 16 bytes, each in its width, and `{then}` one does what it should not.
MIXED = """
    extern "C" __global__ void k(unsigned* results) {{
        __shared__ __align__(16) unsigned s[32];
        char* bytes = (char*)s;
        if (threadIdx.x == 0) *(uint2*)s = make_uint2(0x03020100, 0x07060504);
        if (threadIdx.x == 32) s[2] = 0x0b0a0908;
        if (threadIdx.x == 64) *(unsigned short*)(bytes + 12) = 0x0d0c;
        if (threadIdx.x == 96 || threadIdx.x == 97) bytes[threadIdx.x - 82] = threadIdx.x - 82;
        {then}
        __syncthreads();
        uint4 all = *(uint4*)s;
        if (threadIdx.x % 32 == 0) results[threadIdx.x / 32] = (&all.x)[threadIdx.x / 32];
    }}"""


@pytest.mark.usefixtures("alone")
def test_neighbours_in_sixteen_bytes_need_no_second_run():
    results = gpu.zeros(4, np.uint32)
    watched(MIXED.format(then=""), 1, 128, results)
    assert gpu.asnumpy(results).tobytes() == bytes(range(16))


@pytest.mark.parametrize("position", range(16))
def test_another_warps_byte_in_a_neighbour_of_any_width_races(position):
    warp = 1 if position < 8 else 0  # another one than wrote it
    slip = f"if (threadIdx.x == {32 * warp + 9}) bytes[{position}] = 77;"
    with pytest.raises(errors.RaceError):
        watched(MIXED.format(then=slip), 1, 128, gpu.zeros(4, np.uint32))


@pytest.mark.parametrize("width", ["unsigned char", "unsigned short", "unsigned", "uint2", "uint4"])
def test_read_of_any_width_of_another_warps_bytes_races(width):
    source = f"""
        extern "C" __global__ void k(unsigned char* results) {{
            __shared__ __align__(16) uint4 s[8];
            if (threadIdx.x < 8) s[threadIdx.x] = make_uint4(1, 2, 3, 4);
            if (threadIdx.x > 31) (({width}*)results)[threadIdx.x - 32] = *({width}*)s;
        }}"""
    with pytest.raises(errors.RaceError):
        watched(source, 1, 64, gpu.zeros(32 * 16, np.uint8))


@pytest.fixture
def two_cores(monkeypatch):
    """Blocks are shared out among two threads of the host, however few they are."""
    monkeypatch.setattr(plans, "SMALL", 0)
    monkeypatch.setattr(plans, "CORES", 2)


# A warp of each block writes whole lines of 128 bytes, and `{then}` a little more.
LINES = """
    extern "C" __global__ void k({type}* lines) {{
        lines[blockIdx.x * 32 + threadIdx.x] = {value};
        unsigned* words = (unsigned*)lines;
        if (blockIdx.x == 1 && threadIdx.x == 0) {{ {then} }}
    }}"""
ONES = {"unsigned": "1", "uint2": "make_uint2(1, 1)", "uint4": "make_uint4(1, 1, 1, 1)"}
WORDS = {"unsigned": 1, "uint2": 2, "uint4": 4}


@pytest.mark.parametrize("written", ONES)
@pytest.mark.parametrize("cores", ["one core", "two cores"])
def test_word_in_another_blocks_line_races_but_not_in_its_own(written, cores, request):
    if cores == "two cores":
        request.getfixturevalue("two_cores")
    words = 32 * WORDS[written]

    def launch(then: str) -> np.ndarray:
        lines = gpu.zeros(2 * words, np.uint32)
        watched(LINES.format(type=written, value=ONES[written], then=then), 2, 32, lines)
        return gpu.asnumpy(lines)

    assert launch(f"words[{words}] = 2;").tolist() == [1] * words + [2] + [1] * (words - 1)
    for then in ("words[5] = 2;", f"words[{words - 1}] = 2;", f"words[{words}] = words[3];"):
        with pytest.raises(errors.RaceError):
            launch(then)


@pytest.mark.usefixtures("alone", "two_cores")
def test_blocks_sharing_a_line_but_no_word_need_no_second_run():
    source = """
        extern "C" __global__ void k(unsigned* words) {
            words[blockIdx.x * 16 + threadIdx.x] = 1 + blockIdx.x;
        }"""
    words = gpu.zeros(64, np.uint32)
    watched(source, 4, 16, words)
    assert gpu.asnumpy(words).tolist() == [1 + k // 16 for k in range(64)]


# The block that comes last reads in lines of other widths what both have written in lines.
HANDS_LINES_ON = """
    extern "C" __global__ void k({written}* parts, unsigned* arrived, unsigned* sums) {{
        __shared__ bool last;
        parts[blockIdx.x * blockDim.x + threadIdx.x] = {value};
        {fence}
        __syncthreads();
        if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == 1;
        __syncthreads();
        if (!last) return;
        unsigned sum = 0;
        for (unsigned k = threadIdx.x; k < 2 * 64 * sizeof(*parts) / sizeof({read}); k += 64) {{
            {read} value = (({read}*)parts)[k];
            for (unsigned word = 0; word < sizeof value / 4; ++word) sum += ((unsigned*)&value)[word];
        }}
        sums[threadIdx.x] = sum;
    }}"""


@pytest.mark.parametrize("written", ONES)
@pytest.mark.parametrize("read", ONES)
def test_lines_released_by_a_fence_may_be_read_in_any_width(written, read, monkeypatch):
    def launch(fence: str) -> list[int]:
        parts, arrived, sums = (gpu.zeros(count, np.uint32) for count in (128 * 4, 1, 64))
        source = HANDS_LINES_ON.format(written=written, value=ONES[written], read=read, fence=fence)
        watched(source, 2, 64, parts, arrived, sums)
        return gpu.asnumpy(sums).tolist()

    with pytest.raises(errors.RaceError, match="parts"):
        launch("")
    monkeypatch.setattr("gpusim.engine.run._run_wave", None)  # no second look
    assert sum(launch("__threadfence();")) == 128 * WORDS[written]
