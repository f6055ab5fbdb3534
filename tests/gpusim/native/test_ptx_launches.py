"""Instructions of PTX that see memory or other lanes, in whole launches by both engines: the same bits and counts."""

import itertools
from functools import cache

import numpy as np
import pytest

import gpusim
from gpusim.counters.recorded import RecordedLaunch
from gpusim.engine import compiled
from gpusim.engine.run import CLOCKS, RESERVED, SPECIAL_REGISTERS, UPPER_CLOCKS
from tests.gpusim.kernel_launches import ORDERS, WMMA, operands_of_wmma, source_of, tile_of_wmma

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")

MOST, CELL = 64, 32  # threads of a block; bytes of memory for each
C_TYPES = {"h": "unsigned short", "r": "unsigned", "l": "unsigned long long", "f": "float", "d": "double"}
BITS = {"f": "__float_as_uint", "d": "__double_as_longlong"}
TYPES = {"b8": "h", "u8": "h", "s8": "h", "b16": "h", "u16": "h", "s16": "h", "b32": "r", "u32": "r", "s32": "r",
         "f32": "f", "b64": "l", "u64": "l", "s64": "l", "f64": "d"}  # fmt: skip

# A case is (outputs, text): constraints of the outputs, and PTX in which {0}, {1} … are these, a and b are numbers of
# 32 bits, x and y of 64, f, g and h of float32, float64 and 16 bits, `lanes` the lanes that are there, `global`,
# `shared` and `generic` addresses of the lane's own memory and `cell` and `shared_cell` those of one that it shares.
INPUTS = {
    "a": ("r", "a"), "b": ("r", "b"), "x": ("l", "x"), "y": ("l", "y"), "f": ("f", "__uint_as_float(a)"),
    "g": ("d", "__longlong_as_double(x)"), "h": ("h", "(unsigned short)a"), "k": ("h", "(unsigned short)b"),
    "lanes": ("r", "lanes"), "global": ("l", "own"), "shared": ("r", "shared_own"), "generic": ("l", "generic_own"),
    "cell": ("l", "one"), "shared_cell": ("r", "shared_one"),
}  # fmt: skip


def warp_cases():
    for mode, lane, control in itertools.product(
        ("up", "down", "bfly", "idx"), ("3", "[a]"), ("0", "31", "0x181f", "0x1c00", "[b]")
    ):
        yield "rr", f"shfl.sync.{mode}.b32 {{0}}|p, [b], {lane}, {control}, [lanes]; selp.u32 {{1}}, 1, 0, p;"
    yield "r", "shfl.sync.idx.b32 {0}, [a], [b], 31, [lanes];"
    for mode, q in itertools.product(("all", "any", "uni"), ("q", "!q")):
        yield "r", f"setp.lt.u32 q, [a], [b]; vote.sync.{mode}.pred p, {q}, [lanes]; selp.u32 {{0}}, 1, 0, p;"
    yield "r", "setp.lt.u32 q, [a], [b]; vote.sync.ballot.b32 {0}, !q, [lanes];"
    for type_, value in (("b32", "[b]"), ("b64", "[y]")):
        yield "r", f"match.any.sync.{type_} {{0}}, {value}, [lanes];"
        yield "rr", f"match.all.sync.{type_} {{0}}|p, {value}, [lanes]; selp.u32 {{1}}, 1, 0, p;"
    yield "rr", "match.all.sync.b32 {0}|p, 7, [lanes]; selp.u32 {1}, 1, 0, p;"
    for name, type_ in itertools.product(("add", "min", "max"), ("u32", "s32")):
        yield "r", f"redux.sync.{name}.{type_} {{0}}, [a], [lanes];"
    for name in ("and", "or", "xor"):
        yield "r", f"redux.sync.{name}.b32 {{0}}, [a], [lanes];"
    yield "r", "activemask.b32 {0};"
    yield "rr", "elect.sync {0}|p, [lanes]; selp.u32 {1}, 1, 0, p;"
    yield "r", "bar.warp.sync [lanes]; mov.u32 {0}, [a];"


SPACES = {"global": "[global]", "shared": "[shared]", "": "[generic]"}
WAYS = ("", "volatile", "relaxed.gpu", "acquire.cta", "release.gpu")


def words(*parts: str) -> str:
    return ".".join(filter(None, parts))


def memory_cases():
    for space, (type_, constraint) in itertools.product(SPACES, TYPES.items()):
        element = SPACES[space]
        for count in (1, 2, 4) if type_ not in ("b64", "u64", "s64", "f64") else (1, 2):
            vector = "" if count == 1 else f"v{count}"
            items = ", ".join(f"{{{k}}}" for k in range(count))
            items = items if count == 1 else "{{" + items + "}}"
            yield constraint * count, f"ld.{words(space, vector, type_)} {items}, [{element}+16];"
            value = {"h": ("[h]", "[k]"), "r": ("[a]", "[b]"), "l": ("[x]", "[y]"), "f": ("[f]",), "d": ("[g]",)}
            values = ", ".join(value[constraint][k % len(value[constraint])] for k in range(count))
            values = values if count == 1 else "{{" + values + "}}"
            yield "", f"st.{words(space, vector, type_)} [{element}], {values};"
        for wide in {"h": "rl", "r": "l"}.get(constraint, ""):
            yield wide, f"ld.{words(space, type_)} {{0}}, [{element}+8];"
        if constraint == "h":
            yield "", f"st.{words(space, type_)} [{element}], [a];"
    for way, space in itertools.product(WAYS, SPACES):
        if not way.startswith("release"):
            yield "r", f"ld.{words(way, space, 'u32')} {{0}}, [{SPACES[space]}];"
        if not way.startswith("acquire"):
            yield "", f"st.{words(way, space, 'u32')} [{SPACES[space]}], [b];"
    yield "rr", "ld.global.v4.u32 {{{0}, _, _, {1}}}, [[global]];"
    for size in (4, 8, 16):
        copy = f"cp.async.ca.shared.global [[shared]], [[global]], {size}"
        for more in ("", f", {size}", ", [b]" if size == 16 else ", 4"):
            yield "", f"{copy}{more}; cp.async.wait_all;"
    yield "", "setp.lt.u32 p, [a], [b]; cp.async.ca.shared.global [[shared]], [[global]], 4, p; cp.async.wait_all;"
    yield "", "cp.async.cg.shared.global [[shared]], [[global]], 16; cp.async.commit_group; cp.async.wait_group 0;"
    yield "", "prefetch.global.L2 [[global]];"
    yield "", "membar.gl;"
    yield "", "fence.acq_rel.cta;"
    yield "l", "createpolicy.fractional.L2::evict_first.b64 {0}, 1.0;"


def atomic_cases():
    integers = (("u32", "r", "[a]"), ("s32", "r", "[a]"), ("u64", "l", "[x]"), ("s64", "l", "[x]"))
    for (space, element), returns in itertools.product(
        (("global", "[cell]"), ("shared", "[shared_cell]")), (True, False)
    ):

        def case(constraint, name, type_, value, space=space, operand=element, returns=returns):
            if returns:
                return constraint, f"atom.{space}.{name}.{type_} {{0}}, [{operand}], {value};"
            return "", f"red.{space}.{name}.{type_} [{operand}], {value};"

        for type_, constraint, value in integers:
            for name in ("min", "max", *(("add",) if type_ != "s64" else ())):
                yield case(constraint, name, type_, value)
        for name in ("and", "or", "xor"):
            yield case("r", name, "b32", "[a]")
            yield case("l", name, "b64", "[x]")
        for name in ("inc", "dec"):
            yield case("r", name, "u32", "[b]")
        yield case("f", "add", "f32", "[f]")
        yield case("d", "add", "f64", "[g]")
        for type_, constraint, value in (
            ("f16", "h", "[h]"),
            ("f16x2", "r", "[a]"),
            ("bf16", "h", "[h]"),
            ("bf16x2", "r", "[a]"),
        ):
            yield case(constraint, "add.noftz", type_, value)
        if returns:
            yield "r", f"atom.{space}.exch.b32 {{0}}, [{element}], [a];"
            yield "l", f"atom.{space}.exch.b64 {{0}}, [{element}], [x];"
            yield "r", f"atom.{space}.cas.b32 {{0}}, [{element}], [a], [b];"
            yield "l", f"atom.{space}.cas.b64 {{0}}, [{element}], [x], [y];"
            yield "h", f"atom.{space}.cas.b16 {{0}}, [{element}], [h], [k];"
    for returns, way in itertools.product((True, False), ("relaxed.gpu.", "acq_rel.gpu.", "release.cta.")):
        name = f"{'atom' if returns else 'red'}.{way}global.add.u32"
        if returns or not way.startswith("acq"):
            yield "r" * returns, f"{name} {'{0}, ' * returns}[[cell]], [a];"
    fours = "{{{0}, {1}, {2}, {3}}}"
    yield "ffff", f"atom.global.add.v4.f32 {fours}, [[cell]], {{{{[f], [f], [f], [f]}}}};"
    yield "ff", "atom.global.add.v2.f32 {{{0}, {1}}}, [[cell]], {{[f], [f]}};"
    for name, type_ in itertools.product(("add", "min", "max"), ("f16", "bf16", "f16x2", "bf16x2")):
        value = "[h], [k]" if type_ in ("f16", "bf16") else "[a], [b]"
        constraint = "h" if type_ in ("f16", "bf16") else "r"
        yield constraint * 2, f"atom.global.{name}.noftz.v2.{type_} {{{{{{0}}, {{1}}}}}}, [[cell]], {{{{{value}}}}};"
        yield constraint * 4, f"atom.global.{name}.noftz.v4.{type_} {fours}, [[cell]], {{{{{value}, {value}}}}};"


# (the shape, the types, constraints of D and C, how many registers A and B have)
PRODUCTS = [
    ("m16n8k16", "f32.f16.f16.f32", "ffff", 4, 2), ("m16n8k16", "f16.f16.f16.f16", "rr", 4, 2),
    ("m16n8k16", "f32.bf16.bf16.f32", "ffff", 4, 2), ("m16n8k8", "f32.f16.f16.f32", "ffff", 2, 1),
    ("m16n8k8", "f32.tf32.tf32.f32", "ffff", 4, 2), ("m16n8k4", "f32.tf32.tf32.f32", "ffff", 2, 1),
    ("m16n8k32", "f32.e4m3.e5m2.f32", "ffff", 4, 2), ("m16n8k32", "f16.e5m2.e4m3.f16", "rr", 4, 2),
    ("m16n8k16", "f32.e5m2.e5m2.f32", "ffff", 2, 1), ("m16n8k16", "f16.e4m3.e4m3.f16", "rr", 2, 1),
    ("m8n8k16", "s32.s8.s8.s32", "rr", 1, 1), ("m8n8k16", "satfinite.s32.u8.s8.s32", "rr", 1, 1),
    ("m16n8k16", "s32.s8.u8.s32", "rrrr", 2, 1), ("m16n8k32", "s32.u8.u8.s32", "rrrr", 4, 2),
    ("m16n8k32", "satfinite.s32.s8.s8.s32", "rrrr", 4, 2), ("m8n8k4", "f64.f64.f64.f64", "dd", 1, 1),
    ("m16n8k4", "f64.f64.f64.f64", "dddd", 2, 1), ("m16n8k16", "f64.f64.f64.f64", "dddd", 8, 4),
    ("m8n8k32", "s32.s4.u4.s32", "rr", 1, 1), ("m16n8k64", "satfinite.s32.s4.s4.s32", "rrrr", 4, 2),
    ("m16n8k32", "s32.u4.s4.s32", "rrrr", 2, 1), ("m16n8k128", "s32.b1.b1.s32.xor.popc", "rrrr", 2, 1),
    ("m8n8k128", "s32.b1.b1.s32.and.popc", "rr", 1, 1), ("m16n8k256", "s32.b1.b1.s32.and.popc", "rrrr", 4, 2),
]  # fmt: skip


def matrix_cases():
    def vector(items):
        return "{{" + ", ".join(items) + "}}"

    for shape, types, constraints, a, b in PRODUCTS:
        x, y = ("[g]", "[g]") if constraints[0] == "d" else ("[a]", "[b]")
        value = {"f": "[f]", "r": "[a]", "d": "[g]"}[constraints[0]]
        operands = (
            [f"{{{k}}}" for k in range(len(constraints))], [x, y, y, x, x, y, x, x][:a],
            [y, x, x, y][:b], [value] * len(constraints),
        )  # fmt: skip
        yield constraints, f"mma.sync.aligned.{shape}.row.col.{types} {', '.join(map(vector, operands))};"
    yield "r", "movmatrix.sync.aligned.m8n8.trans.b16 {0}, [a];"


def special_cases():
    for name in sorted(SPECIAL_REGISTERS - {*CLOCKS, *UPPER_CLOCKS, RESERVED}):
        if "cluster" not in name:
            yield "r", f"mov.u32 {{0}}, %%{name};"
    yield "r", "mov.u32 {0}, WARP_SZ;"


GROUPS = {
    "warp": warp_cases, "memory": memory_cases, "atomics": atomic_cases, "special registers": special_cases,
    "matrices": matrix_cases,
}  # fmt: skip
OF_WHOLE_WARPS = ("matrices",)


def statement(outputs: str, text: str, number: int) -> str:
    """A case in C++: what it answers goes to `out`, four numbers of 64 bits for each case and thread."""
    named = [name for name in INPUTS if f"[{name}]" in text]
    body = text.format(*(f"%{k}" for k in range(len(outputs))))
    for position, name in enumerate(named, len(outputs)):
        body = body.replace(f"[{name}]", f"%{position}")
    for name in ("global", "shared", "generic", "cell", "shared_cell"):
        body = body.replace(f"[[{name}]]", f"[{name}]")
    into = ", ".join(f'"={output}"(v{k})' for k, output in enumerate(outputs))
    given = ", ".join(f'"{INPUTS[name][0]}"({INPUTS[name][1]})' for name in named)
    declared = "".join(f"{C_TYPES[output]} v{k} = 0; " for k, output in enumerate(outputs))
    kept = "".join(
        f"out[({4 * number + k}) * threads + i] = {BITS.get(output, '')}(v{k}); " for k, output in enumerate(outputs)
    )
    return f'{{ {declared}asm volatile("{{ .reg .pred p, q; {body} }}" : {into} : {given} : "memory"); {kept}}}'


@cache
def kernel_of(group: str):
    cases = "\n        ".join(statement(*case, number) for number, case in enumerate(GROUPS[group]()))
    source = f"""extern "C" __global__ void kernel(
        const unsigned *A, const unsigned *B, const unsigned long long *X, const unsigned long long *Y,
        unsigned char *memory, unsigned long long *out, unsigned lanes) {{
    __shared__ __align__(16) unsigned char buffer[{MOST * CELL}];
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned i = thread + blockDim.x * blockDim.y * blockDim.z * (blockIdx.x + gridDim.x * blockIdx.y);
    unsigned threads = blockDim.x * blockDim.y * blockDim.z * gridDim.x * gridDim.y, lane = thread % 32;
    unsigned a = A[i], b = B[i];
    unsigned long long x = X[i], y = Y[i];
    unsigned char *own = memory + {CELL} * i, *one = memory + {CELL} * (i / 8);
    unsigned shared_own = (unsigned)__cvta_generic_to_shared(buffer + {CELL} * thread);
    unsigned shared_one = (unsigned)__cvta_generic_to_shared(buffer + {CELL} * (thread / 8));
    unsigned char *generic_own = lane % 2 ? own : buffer + {CELL} * thread;
    for (unsigned k = 0; k < {CELL}; ++k) buffer[{CELL} * thread + k] = own[k];
    __syncwarp();
    if (lanes >> lane & 1) {{
        {cases}
    }}
    __syncwarp();
    for (unsigned k = 0; k < {CELL}; ++k) own[k] ^= 3 * buffer[{CELL} * thread + k];
}}"""
    return gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")


def launched(group: str, lanes: int) -> tuple[RecordedLaunch, np.ndarray, np.ndarray]:
    """(what was recorded, what all cases answer, the memory after it)."""
    random = np.random.default_rng(lanes)
    grid, block = ((2, 3), (8, 4, 2)) if group == "special registers" else ((1,), (32,))
    threads = int(np.prod(grid) * np.prod(block))
    A, B = (random.integers(0, 2**32, threads, np.uint32) for _ in range(2))
    for array in (A, B):
        array[::3] %= 40
        array[1::5] = random.choice(np.array([0, 1 << 31, 0x7F800001, 0x7C017E00, 0x00010001, 0x80000000], np.uint32))
    X, Y = (random.integers(0, 2**64, threads, np.uint64) for _ in range(2))
    Y[::4] = Y[0]
    memory = random.integers(0, 256, threads * CELL, np.uint8)
    out = np.zeros(4 * sum(1 for _ in GROUPS[group]()) * threads, np.uint64)
    with gpusim.record(level="ptx", checks=False) as recording:
        kernel_of(group)(grid, block, (A, B, X, Y, memory, out, np.uint32(lanes)))
    return recording.launches[0], out, memory


@pytest.mark.parametrize(
    ("group", "lanes"),
    [
        *((group, 0xFFFFFFFF) for group in GROUPS),
        *((group, 0x00F0FF31) for group in GROUPS if group not in OF_WHOLE_WARPS),
    ],
)
def test_both_engines_do_the_same_with_memory_and_other_lanes(monkeypatch, group, lanes):
    first, out, memory = launched(group, lanes)
    prepared = kernel_of(group).prepared("ptx")
    assert prepared.machine is not None, prepared.not_decoded
    monkeypatch.setattr(compiled, "library", lambda: None)
    second, expected, wanted = launched(group, lanes)
    cases = list(GROUPS[group]())
    wrong = np.flatnonzero((out != expected).reshape(len(cases), -1).any(axis=1))
    assert not len(wrong), [cases[number] for number in wrong]
    assert memory.tolist() == wanted.tolist()
    assert first.counts == second.counts


@pytest.mark.parametrize(("shape", "type_", "element", "total"), WMMA, ids=lambda value: str(value).replace(" ", ""))
def test_wmma_runs_in_the_compiled_engine_counted_as_by_numpy(monkeypatch, shape, type_, element, total):
    kernel = tiles_of_wmma().get_function(tile_of_wmma(shape, type_, element, total, ORDERS[0]))
    prepared = kernel.prepared("ptx")
    assert prepared.machine is not None, prepared.not_decoded

    def launch():
        A, B, C, held, *others = operands_of_wmma(shape, element, total, ORDERS[0])(np.random.default_rng(shape[0]))
        with gpusim.record(level="ptx") as recording:
            kernel((1,), (32,), (A, B, C, held, *others))
        return recording.launches[0].counts, C.tobytes(), held.tobytes()

    first = launch()
    monkeypatch.setattr(compiled, "library", lambda: None)
    assert first == launch()


@cache
def tiles_of_wmma():
    entries = [tile_of_wmma(*form, ORDERS[0]) for form in WMMA]
    return gpusim.RawModule(code=source_of("wmma_tiles"), name_expressions=entries, arch="sm_90")


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_stored_and_loaded_by_the_compiled_engine(transposed):
    name = f"matrices<{int(transposed)}>"
    module = gpusim.RawModule(code=source_of("matrices"), name_expressions=[name], arch="sm_90")
    prepared = module.get_function(name).prepared("ptx")
    assert prepared.machine is not None, prepared.not_decoded


@pytest.mark.parametrize("name", ["count", "and", "or"])
def test_a_barrier_with_an_unread_result_is_decoded(name):
    body = f"__syncthreads_{name}(x[threadIdx.x]); x[threadIdx.x] = 1;"
    source = f'extern "C" __global__ void kernel(int *x) {{ {body} }}'
    prepared = gpusim.RawModule(code=source, arch="sm_90").get_function("kernel").prepared("ptx")
    assert prepared.machine is not None, prepared.not_decoded
