"""What the compiler makes of each kernel: registers, spills, and the instructions that the lesson is about."""

import re
from collections import Counter

import pytest

from gemm_kernels import get
from gemm_kernels.ladder import LADDER, SPECIALISTS
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from gpusim.compiler import listing

OWN_SOURCE = [kernel for kernel in LADDER + SPECIALISTS if kernel.name == kernel.file]
THREAD_TILES = [kernel for kernel in OWN_SOURCE if "TN" in kernel.params and kernel.name != "rank_k"]
REGISTERS_PER_SM = 65536
REGISTER_UNIT = 256  # registers are allocated to a warp in units of 256 (CUDA guide, compute capabilities)


def compiled(name, arch="sm_90", **params):
    kernel = get(name, **params)
    return compiler.compile(kernel.source, kernel.entry, arch=arch, options=OPTIONS)


def machine_code(built):
    """The text of every instruction."""
    return [row.text for row in listing.read(built)[0]]


def instructions(name, **params):
    """How often each instruction stands in the machine code, with its modifiers but without predicates."""
    return Counter(re.match(r"(?:@!?U?P\w+\s+)?([\w.]+)", text)[1] for text in machine_code(compiled(name, **params)))


def count(rows, pattern):
    return sum(number for instruction, number in rows.items() if re.fullmatch(pattern, instruction))


@pytest.mark.parametrize("kernel", OWN_SOURCE, ids=lambda kernel: kernel.name)
def test_a_kernel_spills_nothing_and_its_block_fits_the_sm(kernel):
    built = compiler.compile(kernel.source, kernel.entry, options=OPTIONS)
    assert built.local_bytes == built.spill_store_bytes == built.spill_load_bytes == 0
    per_warp = -(-built.registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
    warps = -(-kernel.threads // 32)
    assert built.registers < 255
    assert per_warp * warps * kernel.params.get("BLOCKS", 1) <= REGISTERS_PER_SM


@pytest.mark.parametrize("name", ["double_buffered", "ping_pong", "async_copy", "serpentine"])
def test_the_kernels_that_hold_the_most_spill_nothing_on_ampere(name):
    assert compiled(name, "sm_86").spill_store_bytes == 0


@pytest.mark.parametrize("kernel", OWN_SOURCE, ids=lambda kernel: kernel.name)
def test_launch_bounds_promise_the_threads_of_the_block(kernel):
    promised = compiler.compile(kernel.source, kernel.entry, options=OPTIONS).max_threads_per_block
    assert promised == (kernel.threads if kernel.template else None)


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [
        ("shared_memory", 2 * 32 * 32 * 4),
        ("block_tile_1d", (128 + 64) * 16 * 4),
        ("block_tile_2d", (128 + 128) * 8 * 4),
        ("transposed", (128 + 128) * 8 * 4),
        ("padded", (128 + 4 + 128) * 8 * 4),
        ("swizzled", (128 + 128) * 8 * 4),
        ("vectorized", (128 + 4 + 128) * 8 * 4),
        ("double_buffered", 2 * (128 + 4 + 128) * 8 * 4),
        ("async_copy", 0),
    ],
)
def test_static_shared_memory_is_the_tiles_and_their_padding(name, bytes_):
    assert compiled(name).shared_bytes == bytes_


def test_dynamic_shared_memory_is_the_stages():
    assert get("async_copy").shared_bytes == 3 * (128 + 4 + 128) * 8 * 4
    assert get("serpentine", STAGES=5).shared_bytes == 5 * (128 + 4 + 256) * 8 * 4 > 48 * 1024
    assert get("vectorized").shared_bytes == 0


@pytest.mark.parametrize("kernel", THREAD_TILES, ids=lambda kernel: kernel.name)
def test_thread_tile_reads_fragments_by_128_bit_loads_only(kernel):
    built = compiler.compile(kernel.source, kernel.entry, options=OPTIONS)
    code = machine_code(built)
    if kernel.family.blocks:  # beside its loops over k it reads sums one by one, where rows of C are not aligned
        dense = [body for body in loops(built) if sum("FFMA" in line for line in body) > 0.8 * len(body)]
        code = [line for body in dense for line in body]
    loads = [line for line in code if re.search(r"\bLDS\b", line)]
    loads = [line for line in loads if "@!PT" not in line]  # under that predicate an instruction never runs
    assert loads and all("LDS.128 " in line for line in loads)


def test_global_accesses_are_128_bits_from_vectorized_on_only():
    scalar, vector = instructions("interleaved"), instructions("vectorized")
    assert count(scalar, r"LDG\.E\.128.*") == count(scalar, r"STG\.E\.128") == count(scalar, r"STS\.128") == 0
    assert count(vector, r"LDG\.E\.128.*") >= 2
    assert count(vector, r"STG\.E\.128") > 0
    assert count(vector, r"STS\.128") > 0


def test_inline_ptx_reaches_the_assembler_and_the_machine():
    built = compiled("vectorized_ptx")
    assert "ld.shared.v4.f32" in built.ptx
    assert built.ptx.count("ld.global.nc.L2::128B.v4.f32") == 2
    assert count(instructions("vectorized_ptx"), r"LDG\.E\.128\.CONSTANT.*|LDG\.E\.LTC128B\.128\.CONSTANT.*") == 2
    assert "L2::128B" not in compiled("vectorized").ptx


@pytest.mark.parametrize(
    ("name", "barriers"), [("vectorized", 2), ("double_buffered", 2), ("ping_pong", 2), ("async_copy", 2)]
)
def test_source_waits_twice_a_tile_or_before_and_in_the_loop(name, barriers):
    source = get(name).source
    loop = source[source.index("for (unsigned k0 =") if "for (unsigned k0 =" in source else source.index("tile = 1;") :]
    assert source.count("__syncthreads();") == barriers
    assert loop.count("__syncthreads();") == (2 if name == "vectorized" else 1)


def test_asynchronous_copies_go_past_the_registers():
    asynchronous, prefetched = instructions("async_copy"), instructions("ping_pong")
    assert count(asynchronous, r"LDGSTS\.E.*") > 0 and count(asynchronous, r"STS.*") == 0
    assert count(prefetched, r"LDGSTS.*") == 0 and count(prefetched, r"STS.*") > 0


def test_wide_copies_move_four_floats_of_b_or_one_if_unaligned():
    narrow, wide = instructions("serpentine"), instructions("wide_copies")
    assert count(narrow, r"LDGSTS.*128.*") == 0
    assert count(wide, r"LDGSTS\.E\.BYPASS\.128.*") > 0 and count(wide, r"LDGSTS\.E") > 0
    assert compiled("wide_copies").ptx.count("cp.async.cg.shared.global") > 0


def test_staged_epilogue_has_eight_loads_of_c_in_flight():
    def loads_before_the_first_store(name):
        ptx = compiled(name).ptx
        return len(re.findall(r"ld\.global\.v4", ptx[: ptx.index("st.global.v4")]))

    assert (loads_before_the_first_store("wide_copies"), loads_before_the_first_store("staged_epilogue")) == (1, 8)


@pytest.mark.parametrize(
    ("name", "TM", "TN"), [("serpentine", 16, 8), ("rasterized", 16, 8), ("async_copy", 8, 8), ("vectorized", 8, 8)]
)
def test_a_round_of_the_main_loop_is_mostly_fmas(name, TM, TN):
    """The guards and addresses of the steady state cost little: at least 80 of 100 instructions are FMAs."""
    BK = get(name).params["BK"]
    best = max(loops(compiled(name)), key=lambda body: sum("FFMA" in line for line in body))
    fmas = sum("FFMA" in line for line in best)
    assert fmas == BK * TM * TN
    assert fmas / len(best) > 0.8


def loops(built):
    """The instructions between each label and the branch back to it."""
    rows, labels = listing.read(built)
    code, loads = [row.text for row in rows], []
    for position, text in enumerate(code):
        back = re.search(r"BRA.*`\((\.L_x_\d+)\)", text)
        if back and labels[back[1]] <= position:
            loads.append(code[labels[back[1]] : position + 1])
    return loads


def test_naive_and_coalesced_differ_only_in_axes_of_machine_code():
    assert instructions("naive") == instructions("coalesced")


def test_fragment_registers_do_not_depend_on_shared_rows():
    """With A transposed a fragment is read one k at a time; without, four k at once wait in registers."""
    assert compiled("transposed").registers < compiled("block_tile_2d").registers
