"""PTX instructions that touch memory or other lanes: loads, stores, atomics, shuffles, votes, special registers.

Inline PTX in small kernels; the expected values are worked out lane by lane from the PTX ISA, section 9.7.
"""

import itertools

import numpy as np
import pytest

import gpusim

TYPES = {
    "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32,
    "u64": np.uint64, "s64": np.int64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
C_TYPES = {
    np.uint8: "unsigned char", np.int8: "signed char", np.uint16: "unsigned short", np.int16: "short",
    np.uint32: "unsigned int", np.int32: "int", np.uint64: "unsigned long long", np.int64: "long long",
    np.float32: "float", np.float64: "double",
}  # fmt: skip


def run(source: str, block, *args, grid=1, name: str = "kernel") -> None:
    # Some of these kernels race on purpose.
    with gpusim.record(level="ptx", checks="off"):
        gpusim.RawModule(code=source).get_function(name)(grid, block, args)


def random_values(dtype, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8).view(dtype)


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


# ---- loads and stores ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("type_", TYPES)
def test_loads_and_stores_move_every_type_alone_and_in_vectors(type_, space):
    """Out of global memory, through the space, and back, as scalars, pairs and fours."""
    dtype = TYPES[type_]
    size = np.dtype(dtype).itemsize
    letter = {"f32": "f", "f64": "d"}.get(type_) or {1: "r", 2: "h", 4: "r", 8: "l"}[size]
    register = {"f": "float", "d": "double", "r": "unsigned", "h": "unsigned short", "l": "unsigned long long"}[letter]
    name = "" if space == "generic" else f".{space}"
    counts = [count for count in (1, 2, 4) if count * size <= 16]
    body = ""
    for count in counts:
        vector = f".v{count}" if count > 1 else ""
        values = ", ".join(f"%{k}" for k in range(count))
        given = ", ".join(f"%{k + 1}" for k in range(count))
        if count > 1:
            values, given = f"{{{values}}}", f"{{{given}}}"
        outputs = ", ".join(f'"={letter}"(v[{k}])' for k in range(count))
        inputs = ", ".join(f'"{letter}"(v[{k}])' for k in range(count))
        body += f"""
        {{
            {register} v[{count}];
            asm volatile("ld.global{vector}.{type_} {values}, [%{count}];" : {outputs} : "l"(in + i * {count}));
            asm volatile("st{name}{vector}.{type_} [%0], {given};" :: "l"(place + i * {count}), {inputs} : "memory");
            asm volatile("ld{name}{vector}.{type_} {values}, [%{count}];" : {outputs} : "l"(place + i * {count}));
            asm volatile("st.global{vector}.{type_} [%0], {given};" :: "l"(out + i * {count}), {inputs} : "memory");
        }}
        in += 64 * {count}; out += 64 * {count};"""
    address = {
        "global": "scratch",
        "shared": "(element *)__cvta_generic_to_shared(tile)",
        "generic": "i % 2 ? scratch : tile",  # odd and even threads in different spaces
    }[space]
    total = 64 * sum(counts)
    source = f"""
    typedef {C_TYPES[dtype]} element;
    extern "C" __global__ void kernel(const element *in, element *scratch, element *out) {{
        __shared__ __align__(16) element tile[256];
        int i = threadIdx.x;
        element *place = {address};
        {body}
    }}"""
    given, out = random_values(dtype, total), np.zeros(total, dtype)
    run(source, 64, given, np.zeros(256, dtype), out)
    assert same_bytes(out, given)


@pytest.mark.parametrize(("type_", "wide"), [("s8", "s32"), ("u8", "u32"), ("s16", "s32"), ("u16", "u32")])
def test_a_narrow_load_is_extended_by_its_sign(type_, wide):
    source = f"""
    extern "C" __global__ void kernel(const {C_TYPES[TYPES[type_]]} *in, {C_TYPES[TYPES[wide]]} *out) {{
        {C_TYPES[TYPES[wide]]} v;
        asm volatile("ld.global.{type_} %0, [%1];" : "=r"(v) : "l"(in + threadIdx.x));
        out[threadIdx.x] = v;
    }}"""
    given, out = random_values(TYPES[type_], 64), np.zeros(64, TYPES[wide])
    run(source, 64, given, out)
    assert out.tolist() == given.tolist()


def test_guarded_load_and_store_touch_nothing_for_other_threads():
    source = """
    extern "C" __global__ void kernel(const float *in, float *out, int n) {
        int i = threadIdx.x;
        float v = -1.0f;
        asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, %2; @p ld.global.f32 %0, [%3]; }"
                     : "+f"(v) : "r"(i), "r"(n), "l"(in + i));
        asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, %1; @!p st.global.f32 [%2], %3; }"
                     :: "r"(i), "r"(n), "l"(out + i), "f"(v) : "memory");
        if (i < n) out[i] = v;
    }"""
    given, out = np.arange(10, dtype=np.float32), np.zeros(64, np.float32)
    run(source, 64, given, out, np.int32(10))  # threads 10 … 63 would read outside
    assert out.tolist() == [*range(10), *[-1.0] * 54]


def test_one_of_two_stores_to_an_address_wins_and_loads_agree():
    source = """
    extern "C" __global__ void kernel(int *out) {
        __shared__ volatile int word;
        word = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = word;
    }"""
    out = np.full(64, -1, np.int32)
    run(source, 64, out)
    assert len(set(out.tolist())) == 1 and 0 <= out[0] < 64


def test_cp_async_fills_with_zeros_beyond_the_source_size():
    source = """
    extern "C" __global__ void kernel(const float4 *in, const int *bytes, float4 *out) {
        __shared__ float4 tile[32];
        unsigned to = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(to), "l"(in + threadIdx.x), "r"(bytes[threadIdx.x]) : "memory");
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        out[threadIdx.x] = tile[31 - threadIdx.x];
    }"""
    given = random_values(np.float32, 128).view(np.uint32)
    sizes = np.array([0, 4, 8, 12, 16] * 7, np.int32)[:32]
    out = np.ones(128, np.uint32)
    run(source, 32, given.view(np.float32), sizes, out.view(np.float32))
    expected = given.reshape(32, 4) * (np.arange(4) < sizes[:, None] // 4)
    assert np.array_equal(out.reshape(32, 4), expected[::-1])


# ---- atomics ------------------------------------------------------------------------------------------------------


def wrapped(value: int, dtype) -> int:
    return int(np.array(value % (1 << 8 * np.dtype(dtype).itemsize), f"u{np.dtype(dtype).itemsize}").view(dtype))


ATOMICS = {
    "add": lambda old, value: old + value,
    "min": min,
    "max": max,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda old, value: value,
    "inc": lambda old, value: 0 if old >= value else old + 1,
    "dec": lambda old, value: value if old == 0 or old > value else old - 1,
}
ATOMIC_CASES = [
    *((name, type_) for name in ("min", "max") for type_ in ("s32", "u32", "s64", "u64")),
    *(("add", type_) for type_ in ("s32", "u32", "u64")),
    *((name, type_) for name in ("and", "or", "xor", "exch") for type_ in ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("name", "type_"), ATOMIC_CASES)
def test_atomics_act_one_after_the_other_on_each_cell(name, type_, space):
    """In whatever order: the old values and the last one must form a chain that visits every lane's operation once."""
    dtype = TYPES[type_.replace("b", "u")]
    letter = "l" if np.dtype(dtype).itemsize == 8 else "r"
    address = "cell" if space == "global" else "__cvta_generic_to_shared(cell)"
    source = f"""
    typedef {C_TYPES[dtype]} element;
    extern "C" __global__ void kernel(element *cells, const int *which, const element *values, element *old) {{
        __shared__ element tile[4];
        int i = threadIdx.x;
        if (i < 4) tile[i] = cells[i];
        __syncthreads();
        element *cell = {"cells" if space == "global" else "tile"} + which[i];
        element before;
        asm volatile("atom.{space}.{name}.{type_} %0, [%1], %2;" : "={letter}"(before)
                     : "l"({address}), "{letter}"(values[i]) : "memory");
        old[i] = before;
        __syncthreads();
        if (i < 4) cells[i] = {"cells" if space == "global" else "tile"}[i];
    }}"""
    rng = np.random.default_rng(3)
    which = rng.integers(0, 4, 48).astype(np.int32)
    values = random_values(dtype, 48, seed=4) if name not in ("inc", "dec") else rng.integers(2, 9, 48).astype(dtype)
    first = random_values(dtype, 4, seed=5) if name not in ("inc", "dec") else np.array([0, 1, 5, 100], dtype)
    cells, old = first.copy(), np.zeros(48, dtype)
    run(source, 48, cells, which, values, old)

    def after(state: int, lane: int) -> int:
        return wrapped(ATOMICS[name](state, int(values[lane])), dtype)

    def leads_to_the_last(state: int, lanes: list[int], last: int) -> bool:
        """Whether the operations of these lanes make, in some order, `last` of `state`, and show each its old value."""
        following = {lane for lane in lanes if int(old[lane]) == state}
        idle = {lane for lane in following if after(state, lane) == state}  # may all come now: in no order do they harm
        if idle:
            return leads_to_the_last(state, [lane for lane in lanes if lane not in idle], last)
        if not lanes:
            return state == last
        return any(leads_to_the_last(after(state, lane), [k for k in lanes if k != lane], last) for lane in following)

    for cell in range(4):
        assert leads_to_the_last(int(first[cell]), np.flatnonzero(which == cell).tolist(), int(cells[cell]))


@pytest.mark.parametrize("bits", [32, 64])
def test_compare_and_swap_succeeds_for_one_lane_of_each_cell(bits):
    element = "unsigned int" if bits == 32 else "unsigned long long"
    letter = "r" if bits == 32 else "l"
    source = f"""
    extern "C" __global__ void kernel({element} *cells, {element} *old) {{
        {element} before, mine = threadIdx.x + 1;
        asm volatile("atom.global.cas.b{bits} %0, [%1], %2, %3;" : "={letter}"(before)
                     : "l"(cells + threadIdx.x % 4), "{letter}"(({element})0), "{letter}"(mine) : "memory");
        old[threadIdx.x] = before;
    }}"""
    dtype = TYPES[f"u{bits}"]
    cells, old = np.array([0, 0, 0, 77], dtype), np.zeros(64, dtype)
    run(source, 64, cells, old)
    for cell in range(3):
        winners = [lane for lane in range(cell, 64, 4) if old[lane] == 0]
        assert len(winners) == 1 and cells[cell] == winners[0] + 1
        assert all(old[lane] == cells[cell] for lane in range(cell, 64, 4) if lane not in winners)
    assert cells[3] == 77 and set(old[3::4].tolist()) == {77}


@pytest.mark.parametrize(("type_", "letter"), [("f32", "f"), ("f64", "d")])
def test_a_reduction_adds_what_all_blocks_bring(type_, letter):
    element = C_TYPES[TYPES[type_]]
    source = f"""
    extern "C" __global__ void kernel(const {element} *in, {element} *sums) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        asm volatile("red.global.add.{type_} [%0], %1;" :: "l"(sums + i % 3), "{letter}"(in[i]) : "memory");
    }}"""
    values = np.random.default_rng(1).integers(-50, 50, 300).astype(TYPES[type_])  # sums are exact in any order
    sums = np.zeros(3, TYPES[type_])
    run(source, 100, values, sums, grid=3)
    assert sums.tolist() == [values[k::3].sum() for k in range(3)]


HALVES = {
    "f16": ([0x3C00, 0x4000], lambda bits: float(np.uint16(bits).view(np.float16))),  # 1.0, 2.0
    "bf16": ([0x3F80, 0x4000], lambda bits: float(np.uint32(bits << 16).view(np.float32))),
}


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("instruction", ["red", "atom"])
@pytest.mark.parametrize("type_", HALVES)
@pytest.mark.parametrize("is_pair", [False, True], ids=["one", "pair"])
def test_atomic_sums_of_16_bit_numbers_add_numbers_and_not_bits(space, instruction, type_, is_pair):
    operands, value = HALVES[type_]
    element, letter = ("unsigned int", "r") if is_pair else ("unsigned short", "h")
    old = f"{element} old;" if instruction == "atom" else ""
    name = f"{instruction}.{space}.add.noftz.{type_}{'x2' if is_pair else ''}"
    call = f'"{name} %0, [%1], %2;" : "={letter}"(old)' if old else f'"{name} [%0], %1;" :'
    source = f"""
    extern "C" __global__ void kernel({element} *sum, {element} operand) {{
        __shared__ {element} tile[1];
        tile[0] = 0;
        __syncthreads();
        {element} *cell = {"sum" if space == "global" else "tile"};
        {old}
        asm volatile({call} : "l"({"cell" if space == "global" else "__cvta_generic_to_shared(cell)"}),
                     "{letter}"(operand) : "memory");
        __syncthreads();
        {"" if space == "global" else "if (threadIdx.x == 0) *sum = tile[0];"}
    }}"""
    dtype = np.uint32 if is_pair else np.uint16
    operand = operands[0] | operands[1] << 16 if is_pair else operands[1]
    result = np.zeros(1, dtype)
    run(source, 32, result, dtype(operand))
    assert value(int(result[0]) & 0xFFFF) == (32.0 if is_pair else 64.0)
    assert not is_pair or value(int(result[0]) >> 16) == 64.0


VECTOR_SUMS = """extern "C" __global__ void kernel(float *sums, float *before) {
    const int t = threadIdx.x;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(sums), "f"(1.0f * t), "f"(2.0f * t), "f"(3.0f), "f"(-1.0f) : "memory");
    float a, b;
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"
                 : "=f"(a), "=f"(b) : "l"(sums + 4 + 2 * t), "f"(0.5f), "f"(0.25f) : "memory");
    before[2 * t] = a;
    before[2 * t + 1] = b;
}"""


def test_a_sum_of_several_floats_updates_each_by_itself(level):
    sums, before = np.arange(68, dtype=np.float32), np.zeros(64, np.float32)
    expected = sums.copy()
    expected[:4] += [496, 992, 96, -32]
    expected[4:] += np.tile(np.float32([0.5, 0.25]), 32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=VECTOR_SUMS, arch="sm_90").get_function("kernel")((1,), (32,), (sums, before))
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(before, np.arange(4, 68))


@pytest.mark.parametrize(("space", "expected"), [("global", 0), ("shared", 5)])
def test_float_atomics_flush_subnormals_in_global_memory_alone(space, expected):
    """PTX ISA, 'atom': atom.add.f32 on global memory flushes them to zero, on shared memory it does not."""
    address = "cell" if space == "global" else "__cvta_generic_to_shared(cell)"
    source = f"""
    extern "C" __global__ void kernel(float *sum, const float *in) {{
        __shared__ float tile[1];
        tile[0] = 0;
        float *cell = {"sum" if space == "global" else "tile"};
        asm volatile("red.{space}.add.f32 [%0], %1;" :: "l"({address}), "f"(in[0]) : "memory");
        *sum = *cell;
    }}"""
    total, smallest = np.zeros(1, np.float32), np.array([5], np.uint32).view(np.float32)
    run(source, 1, total, smallest)
    assert total.view(np.uint32)[0] == expected


# ---- lanes --------------------------------------------------------------------------------------------------------


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that is read, and the predicate."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    highest = lane & segment | clamp & ~segment & 31
    source, inside = {
        "up": (lane - b, lane - b >= highest),
        "down": (lane + b, lane + b <= highest),
        "bfly": (lane ^ b, (lane ^ b) <= highest),
        "idx": (lane & segment | b & ~segment & 31, (lane & segment | b & ~segment & 31) <= highest),
    }[mode]
    return (source if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("same_for_all", [True, False])
def test_shuffles_read_the_manuals_lane_and_report_its_range(mode, same_for_all):
    source = f"""
    extern "C" __global__ void kernel(const int *in, const int *b, const int *c, int *out, int *inside) {{
        int i = threadIdx.x, value;
        asm volatile("{{ .reg .pred p; shfl.sync.{mode}.b32 %0|p, %2, %3, %4, 0xffffffff; selp.s32 %1, 1, 0, p; }}"
                     : "=r"(value), "=r"(inside[i]) : "r"(in[i]), "r"(b[i]), "r"(c[i]));
        out[i] = value;
    }}"""
    rng = np.random.default_rng(8)
    # Segments of 32, 16, 8, … lanes, as the CUDA functions __shfl_sync(…, width) set them.
    for width in (32, 16, 8, 2):
        clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
        amounts = (
            np.full(64, rng.integers(0, width)) if same_for_all or mode in ("up", "down") else rng.integers(0, 32, 64)
        )
        given, out, inside = random_values(np.int32, 64), np.zeros(64, np.int32), np.full(64, -1, np.int32)
        run(source, 64, given, amounts.astype(np.int32), np.full(64, clamp, np.int32), out, inside)
        for lane in range(64):
            origin, expected = shuffled(mode, lane % 32, int(amounts[lane]), clamp)
            assert (out[lane], inside[lane]) == (given[lane // 32 * 32 + origin], expected), (width, lane)


@pytest.mark.parametrize("divergent", [False, True])
def test_votes_and_reductions_are_over_each_warps_active_lanes(divergent):
    source = """
    extern "C" __global__ void kernel(const int *in, int divergent, unsigned *out) {
        int i = threadIdx.x, lane = i % 32;
        unsigned members = 0xffffffffu;
        if (divergent) {
            members = 0x55555555u;
            if (lane % 2) return;
        }
        unsigned all, any, uni, ballot, active, add, low, high, both, either, differ;
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.all.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                     : "=r"(all) : "r"(in[i]), "r"(members));
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                     : "=r"(any) : "r"(in[i]), "r"(members));
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.uni.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                     : "=r"(uni) : "r"(in[i]), "r"(members));
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                     : "=r"(ballot) : "r"(in[i]), "r"(members));
        asm volatile("activemask.b32 %0;" : "=r"(active));
        asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(add) : "r"(in[i]), "r"(members));
        asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(low) : "r"(in[i]), "r"(members));
        asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(high) : "r"(in[i]), "r"(members));
        asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(both) : "r"(in[i]), "r"(members));
        asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(either) : "r"(in[i]), "r"(members));
        asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(differ) : "r"(in[i]), "r"(members));
        unsigned results[11] = {all, any, uni, ballot, active, add, low, high, both, either, differ};
        for (int k = 0; k < 11; ++k) out[k * 96 + i] = results[k];
    }"""
    given = np.random.default_rng(2).integers(-3, 3, 96).astype(np.int32)
    given[32:64] = 0  # a warp that agrees, and one that agrees on yes
    given[64:] |= 8
    out = np.zeros((11, 96), np.uint32)
    run(source, 96, given, np.int32(divergent), out)
    members = [lane for lane in range(32) if not (divergent and lane % 2)]
    for warp in range(3):
        values = [int(given[32 * warp + lane]) for lane in members]
        bits = [value % 2**32 for value in values]
        yes = [bool(value) for value in values]
        expected = [
            all(yes), any(yes), len(set(yes)) == 1, sum(1 << lane for lane, y in zip(members, yes, strict=True) if y),
            sum(1 << lane for lane in members), sum(values) % 2**32, min(values) % 2**32, max(bits),
            np.bitwise_and.reduce(bits), np.bitwise_or.reduce(bits), np.bitwise_xor.reduce(bits),
        ]  # fmt: skip
        for lane in members:
            assert out[:, 32 * warp + lane].tolist() == [int(value) for value in expected]


# ---- special registers --------------------------------------------------------------------------------------------


def test_special_registers_give_a_threads_index_and_position():
    names = [f"{name}.{axis}" for name, axis in itertools.product(("tid", "ntid", "ctaid", "nctaid"), "xyz")]
    names += ["laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge"]
    reads = "".join(
        f'asm volatile("mov.u32 %0, %%{name};" : "=r"(v)); out[{k} * n + i] = v;\n' for k, name in enumerate(names)
    )
    source = f"""
    extern "C" __global__ void kernel(unsigned *out, int n) {{
        unsigned v;
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
        {reads}
    }}"""
    block, grid = (5, 3, 4), (2, 3, 2)
    threads, blocks = 60, 12
    out = np.zeros((len(names), threads * blocks), np.uint32)
    run(source, block, out, np.int32(threads * blocks), grid=grid)
    thread, number = np.arange(threads * blocks) % threads, np.arange(threads * blocks) // threads
    lane = thread % 32
    every = (1 << 32) - 1
    expected = [
        thread % 5, thread // 5 % 3, thread // 15, *block, number % 2, number // 2 % 3, number // 6, *grid, lane,
        1 << lane, (1 << lane) - 1, (2 << lane) - 1, every ^ ((2 << lane) - 1), every ^ ((1 << lane) - 1),
    ]  # fmt: skip
    for name, row, value in zip(names, out, expected, strict=True):
        assert np.array_equal(row, np.broadcast_to(value, row.shape)), name
