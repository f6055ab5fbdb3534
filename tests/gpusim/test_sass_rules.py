"""Operand rules of SASS instructions, one by one, against arithmetic on Python's unbounded integers and fractions."""

import contextlib
import struct

import numpy as np
import pytest

from gpusim.compiler import sass
from gpusim.engine.ir import Registers
from gpusim.errors import Unknown
from gpusim.isa import rules
from gpusim.isa.decoded import ELEMENTS_BIT
from gpusim.isa.rules import Compute
from gpusim.isa.sass import opcodes
from gpusim.isa.sass.operands import Code, Operands
from tests.gpusim import exact

M32, M64 = 2**32 - 1, 2**64 - 1
RANDOM = np.random.default_rng(5)
LANES = 200
CORNERS = [0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF0000, 0x3F800000, 0x55555555]


def words() -> np.ndarray:
    """Registers full of corner cases and random bits, uint32."""
    values = RANDOM.integers(0, 2**32, LANES, dtype=np.uint32)
    chosen = RANDOM.random(LANES) < 0.3
    values[chosen] = RANDOM.choice(CORNERS, int(chosen.sum()))
    return values


def execute(text: str, code: bytes = b"", **registers) -> dict[str, np.ndarray]:
    """The registers that one instruction writes, uint32 or bool; `registers` gives its sources by name."""
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    operands = Operands("sm_90", code=Code(binary=code))
    computed = opcodes.outcome(operands, statement, since=100)
    assert isinstance(computed, Compute)
    values = Registers(operands.initial)
    for name, value in registers.items():
        if name in operands.slots:
            values[operands.slots[name]] = value.view(np.int32) if value.dtype == np.uint32 else value
    results = computed.evaluate(values)
    results = results if isinstance(results, tuple) else (results,)
    names = {slot: name for name, slot in operands.slots.items()}
    written = {names[slot]: result for slot, result in zip(computed.writes, results, strict=False) if slot is not None}
    return {
        name: np.broadcast_to(value if value.dtype == bool else np.asarray(value).view(np.uint32), LANES)
        for name, value in written.items()
    }


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def lanes(*arrays):
    return zip(*(array.tolist() for array in arrays), strict=True)


# ---- addition


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("IADD3 R0, -R1, R2, -R3", lambda a, b, c: -a + b - c),
        ("UIADD3 UR0, UR1, UR2, URZ", lambda a, b, c: a + b),
        ("IMNMX R0, R1, R2, PT", lambda a, b, c: min(signed(a), signed(b))),
        ("VIMNMX3.U32 R0, R1, 0x64, R3, !PT", lambda a, b, c: max(a, 100, c)),
    ],
)
def test_integer_arithmetic(text, rule):
    a, b, c = words(), words(), words()
    name = "UR" if text.startswith("U") else "R"
    (result,) = execute(text, **{f"{name}1": a, f"{name}2": b, f"{name}3": c}).values()
    assert result.tolist() == [rule(*lane) & M32 for lane in lanes(a, b, c)]


def test_pairs_of_uniform_registers_are_added():
    low, high = [words() for _ in range(3)], [words() for _ in range(3)]
    names = {f"UR{2 * k + 2 + part}": half[k] for k in range(3) for part, half in ((0, low), (1, high))}
    result = execute("UIADD3.64 UR0, UR2, UR4, UR6", **names)
    for lane in range(len(low[0])):
        total = sum(int(low[k][lane]) | int(high[k][lane]) << 32 for k in range(3))
        assert [int(result["UR0"][lane]), int(result["UR1"][lane])] == [total & M32, total >> 32 & M32]


def pairs(*names: str) -> tuple[dict[str, np.ndarray], list[list[int]]]:
    """(registers R2, R3 of "R2" and so on with what makes neighbours equal now and then, their numbers of 64 bits)."""
    numbers = [RANDOM.integers(0, 2**64, LANES, dtype=np.uint64) for _ in names]
    numbers[-1][::3] = numbers[0][::3]
    numbers[-1][1::9] = numbers[0][1::9] ^ np.uint64(1 << 40)
    held = {}
    for name, number in zip(names, numbers, strict=True):
        held[name] = number.astype(np.uint32)
        held[f"R{int(name[1:]) + 1}"] = (number >> np.uint64(32)).astype(np.uint32)
    return held, [number.tolist() for number in numbers]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("IADD.64 R0, R2, R4", lambda a, b, p: a + b),
        ("IADD.64 R0, -R2, R4", lambda a, b, p: b - a),
        ("IADD.64 R0, R2, -0x2a80", lambda a, b, p: a - 0x2A80),
        ("IADD.64.X R0, R2, ~R4, P0", lambda a, b, p: a + (b ^ M64) + p),
        ("SEL.64 R0, R2, R4, !P0", lambda a, b, p: b if p else a),
        ("SEL.64 R0, R2, -0x1, P0", lambda a, b, p: a if p else M64),
        ("MOV.64 R0, R4", lambda a, b, p: b),
        ("MOV.64 R0, 0x3fb999999999999a", lambda a, b, p: 0x3FB999999999999A),
        ("IMNMX.U64 PT, PT, R0, R2, R4, P0, !PT", lambda a, b, p: min(a, b) if p else max(a, b)),
        ("IMNMX.S64 PT, PT, R0, R2, R4, PT, !PT", lambda a, b, p: min(signed(a, 64), signed(b, 64))),
    ],
)
def test_pairs_of_registers_are_numbers_of_64_bits(text, rule):
    held, (a, b) = pairs("R2", "R4")
    p = RANDOM.random(LANES) < 0.5
    result = execute(text, P0=p, **held)
    both = result["R0"].astype(np.uint64) | (result["R1"].astype(np.uint64) << np.uint64(32))
    assert both.tolist() == [rule(*lane) & M64 for lane in zip(a, b, p.tolist(), strict=True)]


def test_a_sum_of_pairs_carries_and_so_does_a_difference():
    held, (a, b) = pairs("R2", "R4")
    p = RANDOM.random(LANES) < 0.5
    for text, rule in (
        ("IADD.64 RZ, P1, R2, R4", lambda x, y, carry: x + y),
        ("IADD.64 RZ, P1, R2, -R4", lambda x, y, carry: x + (y ^ M64) + 1),
        ("IADD.64.X RZ, P1, R2, ~R4, P0", lambda x, y, carry: x + (y ^ M64) + carry),
    ):
        carries = execute(text, P0=p, **held)["P1"].tolist()
        assert carries == [rule(*lane) > M64 for lane in zip(a, b, p.tolist(), strict=True)]


@pytest.mark.parametrize("comparison", ["LT", "EQ", "LE", "GT", "NE", "GE"])
@pytest.mark.parametrize("kind", ["U64", "S64"])
def test_pairs_of_registers_are_compared(comparison, kind):
    held, (a, b) = pairs("R2", "R4")
    read = (lambda x: x) if kind == "U64" else (lambda x: signed(x, 64))
    compare = getattr(int, f"__{comparison.lower()}__")
    result = execute(f"ISETP.{comparison}.{kind}.AND P0, P1, R2, R4, PT", **held)
    assert result["P0"].tolist() == [compare(read(x), read(y)) for x, y in zip(a, b, strict=True)]
    assert result["P1"].tolist() == [not yes for yes in result["P0"].tolist()]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("VIADD.U8x4 R0, R1, -R2", lambda a, b: sum(((a >> s) - (b >> s) & 255) << s for s in (0, 8, 16, 24))),
        ("VIADD.S32.ISAT R0, R1, R2", lambda a, b: max(-(2**31), min(2**31 - 1, signed(a) + signed(b)))),
        ("VIADD.S32.ISAT R0, R1, -R2", lambda a, b: max(-(2**31), min(2**31 - 1, signed(a) - signed(b)))),
        ("VIMNMX.U8x4 R0, R1, R2, !PT", lambda a, b: sum(max(a >> s & 255, b >> s & 255) << s for s in (0, 8, 16, 24))),
    ],
)
def test_parts_of_registers_and_sums_that_saturate(text, rule):
    a, b = words(), words()
    assert execute(text, R1=a, R2=b)["R0"].tolist() == [rule(*lane) & M32 for lane in lanes(a, b)]


@pytest.mark.parametrize("sign", ["", "-"])
def test_carries_make_a_64_bit_addition_of_two_32_bit_ones(sign):
    low_a, high_a, low_b, high_b = words(), words(), words(), words()
    first = execute(f"IADD3 R0, P0, R1, {sign}R2, RZ", R1=low_a, R2=low_b)
    inverted = "~" if sign else ""
    second = execute(f"IADD3.X R0, R1, {inverted}R2, RZ, P0, !PT", R1=high_a, R2=high_b, P0=first["P0"])
    also = execute(f"IMAD.X R0, R1, 0x1, {inverted}R2, P0", R1=high_a, R2=high_b, P0=first["P0"])
    both = first["R0"].astype(np.uint64) | (second["R0"].astype(np.uint64) << np.uint64(32))
    factor = -1 if sign else 1
    expected = [(h << 32 | n) + factor * (k << 32 | m) & M64 for n, h, m, k in lanes(low_a, high_a, low_b, high_b)]
    assert both.tolist() == expected
    assert also["R0"].tolist() == second["R0"].tolist()


def test_three_numbers_have_two_carries():
    a, b, c = words(), words(), words()
    result = execute("IADD3 R0, P0, P1, R1, R2, R3", R1=a, R2=b, R3=c)
    carries = result["P0"].astype(int) + result["P1"].astype(int)
    assert (result["R0"].astype(np.uint64) + (carries.astype(np.uint64) << np.uint64(32))).tolist() == [
        x + y + z for x, y, z in lanes(a, b, c)
    ]


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("LEA.HI.X R0, P0, R1, R2, R3, 0x5, P0", lambda a, c: (c << 32 | a) << 5 >> 32 & M32),
        ("LEA.X R0, P0, R1, R2, 0x7, P0", lambda a, c: a << 7 & M32),
        ("LEA.HI.X.SX32 R0, P0, R1, R2, 0x1, P0", lambda a, c: signed(a) >> 31 & M32),
    ],
)
def test_a_part_of_a_shifted_addition_carries_in_and_out(text, high):
    a, b, c, carry = words(), words(), words(), RANDOM.random(LANES) < 0.5
    result = execute(text, R1=a, R2=b, R3=c, P0=carry)
    sums = [high(x, z) + y + p for x, y, z, p in lanes(a, b, c, carry)]
    assert result["R0"].tolist() == [total & M32 for total in sums]
    assert result["P0"].tolist() == [total >> 32 == 1 for total in sums]


# ---- bits


@pytest.mark.parametrize("table", [*range(0, 256, 7), 0xC0, 0xFC, 0x3C, 0xF8, 0x96, 0xE2, 0x48, 0x33])
def test_every_table_of_a_three_input_function(table):
    a, b, c = words(), words(), words()
    result = execute(f"LOP3.LUT P0, R0, R1, R2, R3, {table:#x}, !PT", R1=a, R2=b, R3=c)
    expected = [
        sum((table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i for i in range(32))
        for x, y, z in lanes(a, b, c)
    ]
    assert result["R0"].tolist() == expected
    assert result["P0"].tolist() == [value != 0 for value in expected]


@pytest.mark.parametrize("table", [0x80, 0xA8, 0x2A, 0xFE, 0x3C, 0x08])
def test_predicates_have_tables_too(table):
    p, q, r = (RANDOM.random(LANES) < 0.5 for _ in range(3))
    result = execute(f"PLOP3.LUT P0, P4, P1, !P2, P3, {table:#x}, 0x1", P1=p, P2=q, P3=r)
    assert result["P0"].tolist() == [bool(table >> (x * 4 + (not y) * 2 + z) & 1) for x, y, z in lanes(p, q, r)]
    assert result["P4"].tolist() == [not x and y and not z for x, y, z in lanes(p, q, r)]


def test_predicates_are_packed_into_a_register_and_back():
    flags = {f"P{n}": RANDOM.random(LANES) < 0.5 for n in (0, 2, 5)}
    before = words()
    packed = execute("P2R.B1 R0, PR, R1, 0x25", R1=before, **flags)["R0"]
    expected = [
        x & ~0x2500 | (p << 8 | q << 10 | r << 13)
        for x, p, q, r in lanes(before, flags["P0"], flags["P2"], flags["P5"])
    ]
    assert packed.tolist() == expected
    back = execute("R2P PR, R0.B1, 0x25", R0=packed)
    assert all((back[name] == value).all() for name, value in flags.items())


def test_uniform_predicates_pack_into_a_register_and_back():
    true, false = np.ones(LANES, bool), np.zeros(LANES, bool)
    flags = {"UP0": true, "UP1": false, "UP2": true, "P0": false, "P1": true, "P2": false}
    before = np.full(LANES, 0xFFFFFFF0, np.uint32)
    packed = execute("UP2UR UR0, UPR, UR1, 0x7", UR1=before, **flags)["UR0"]
    assert packed.tolist() == [0xFFFFFFF5] * LANES
    back = execute("UR2UP UPR, UR0, 0x7", UR0=packed)
    assert {name: value.tolist() for name, value in back.items()} == {
        f"UP{n}": flags[f"UP{n}"].tolist() for n in range(3)
    }
    every = execute("UR2UP UPR, UR0.B3", UR0=np.full(LANES, 0x52000000, np.uint32))  # without a mask all of them
    assert {name: value[0] for name, value in every.items()} == {f"UP{n}": n in (1, 4, 6) for n in range(7)}


# ---- comparison


@pytest.mark.parametrize("comparison", ["LT", "EQ", "LE", "GT", "NE", "GE"])
@pytest.mark.parametrize("unsigned", [True, False])
def test_two_comparisons_make_a_64_bit_one(comparison, unsigned):
    a, b = (RANDOM.integers(0, 2**64, LANES, dtype=np.uint64) for _ in range(2))
    a[::3] = b[::3]
    a[1::3] = b[1::3] ^ np.uint64(1 << 31)
    halves = {
        "R2": a.astype(np.uint32), "R3": (a >> np.uint64(32)).astype(np.uint32),
        "R4": b.astype(np.uint32), "R5": (b >> np.uint64(32)).astype(np.uint32),
    }  # fmt: skip
    kind = ".U32" if unsigned else ""
    low = execute(f"ISETP.{comparison}.U32.AND P0, PT, R2, R4, PT", **halves)
    high = execute(f"ISETP.{comparison}{kind}.AND.EX P1, P2, R3, R5, PT, P0", P0=low["P0"], **halves)
    read = (lambda x: x) if unsigned else (lambda x: signed(x, 64))
    compare = getattr(int, f"__{comparison.lower()}__")
    expected = [compare(read(x), read(y)) for x, y in lanes(a, b)]
    assert high["P1"].tolist() == expected
    assert high["P2"].tolist() == [not yes for yes in expected]


@pytest.mark.parametrize(("combine", "rule"), [("AND", "and"), ("OR", "or"), ("XOR", "!=")])
def test_a_comparison_is_combined_with_a_predicate(combine, rule):
    a, b, p = words(), words(), RANDOM.random(LANES) < 0.5
    result = execute(f"ISETP.GT.{combine} P0, PT, R1, R2, !P1", R1=a, R2=b, P1=p)
    python = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "!=": lambda x, y: x != y}[rule]
    assert result["P0"].tolist() == [python(signed(x) > signed(y), not q) for x, y, q in lanes(a, b, p)]


@pytest.mark.parametrize(
    ("comparison", "of_nan"), [("LT", False), ("GE", False), ("NE", False), ("NEU", True), ("GEU", True), ("LTU", True)]
)
def test_only_unordered_comparisons_are_true_for_nan(comparison, of_nan):
    a = np.full(LANES, np.nan, np.float32)
    b = np.ones(LANES, np.float32)
    assert execute(f"FSETP.{comparison}.AND P0, PT, R1, R2, PT", R1=a, R2=b)["P0"].tolist() == [of_nan] * LANES
    assert execute(f"FSETP.{comparison}.AND P0, PT, R1, R2, PT", R1=b, R2=b)["P0"][0] == (comparison in ("GE", "GEU"))


# ---- floating point


def floats(scale: int = 40) -> np.ndarray:
    values = RANDOM.choice([-1.0, 1.0], LANES) * np.exp2(RANDOM.uniform(-scale, scale, LANES))
    values[:6] = 0.0, -0.0, np.inf, 1e-40, -3e-39, 1.0
    return values.astype(np.float32)


def bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


@pytest.mark.parametrize(("scale", "factor"), [("M2", 2), ("M8", 8), ("D4", 0.25)])
def test_a_product_may_be_scaled_before_it_is_rounded(scale, factor):
    a, b = floats(30), floats(30)
    a[:6], b[:6] = (3e38, 1e-30, 1.5, -0.0, np.inf, np.nan), (0.125, 1e-15, -3.0, 2.0, 0.0, 1.0)
    result = execute(f"FMUL.{scale} R0, R1, -R2", R1=a, R2=b)["R0"]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = (a.astype(np.float64) * -b.astype(np.float64) * factor).astype(np.float32)
    np.testing.assert_array_equal(result.view(np.float32), expected)


def test_float64_is_a_pair_of_registers():
    a, b = RANDOM.uniform(-9, 9, LANES), RANDOM.uniform(-9, 9, LANES)
    halves = {f"R{2 + n}": part for n, part in enumerate(np.stack([a, b]).view(np.uint32).reshape(2, -1, 2)
              .transpose(0, 2, 1).reshape(4, -1))}  # fmt: skip
    result = execute("DFMA R6, R2, -R4, R2", **halves)
    both = (result["R6"].astype(np.uint64) | (result["R7"].astype(np.uint64) << np.uint64(32))).view(np.float64)
    assert both.tolist() == [exact.fma(x, -y, x, "f64") for x, y in lanes(a, b)]
    less = execute("DSETP.LT.AND P0, PT, R2, |R4|, PT", **halves)["P0"]
    assert less.tolist() == (a < np.abs(b)).tolist()


def test_an_immediate_float64_is_read_from_the_machine_code():
    code = struct.pack("<IIQ", 0, struct.unpack("<Q", struct.pack("<d", 0.1))[0] >> 32, 0)
    halves = np.full(LANES, 2.0).view(np.uint32).reshape(-1, 2)
    result = execute("DMUL R0, R2, 0.0999999642372131", code, R2=halves[:, 0].copy(), R3=halves[:, 1].copy())
    product = (result["R0"].astype(np.uint64) | (result["R1"].astype(np.uint64) << np.uint64(32))).view(np.float64)
    upper_half = struct.unpack("<d", struct.pack("<Q", struct.unpack("<Q", struct.pack("<d", 0.1))[0] >> 32 << 32))[0]
    assert product[0] == 2 * upper_half


@pytest.mark.parametrize(("suffix", "mode"), [("", "rn"), (".RP", "rp"), (".RZ", "rz")])
def test_integers_become_floats_rounded_once(suffix, mode):
    a = words()
    result = execute(f"I2F.U32{suffix} R0, R1", R1=a)["R0"]
    assert result.tolist() == [bits(exact.rounded(exact.Fraction(x), "f32", mode) if x else 0.0) for x in a.tolist()]


def test_bytes_of_a_register_become_floats():
    a = words()
    assert execute("I2F.U8 R0, R1.B2", R1=a)["R0"].tolist() == [bits(x >> 16 & 255) for x in a.tolist()]


def test_two_halves_share_a_register():
    a, b = (RANDOM.uniform(-2, 2, (LANES, 2)).astype(np.float16) for _ in range(2))
    packed = {"R1": a.view(np.uint32)[:, 0].copy(), "R2": b.view(np.uint32)[:, 0].copy()}
    both = execute("HFMA2 R0, R1, R2, -R1.H1_H1", **packed)["R0"]
    expected = [
        [exact.fma(float(x[i]), float(y[i]), -float(x[1]), "f16") for i in (0, 1)] for x, y in zip(a, b, strict=True)
    ]
    assert np.ascontiguousarray(both).view(np.float16).reshape(-1, 2).tolist() == expected
    wide = execute("HADD2.F32 R0, -RZ, R1.H1_H1", **packed)["R0"]
    assert np.ascontiguousarray(wide).view(np.float32).tolist() == a[:, 1].astype(float).tolist()
    code = struct.pack("<IIQ", 0, 0x3FF99D4E, 0)
    assert execute("HFMA2.MMA R0, -RZ, RZ, 1.9931640625, -0.00518035888671875", code)["R0"][0] == 0x3FF99D4E


@pytest.mark.parametrize(
    ("a", "b", "careful"),
    [
        (1.0, 3.0, False),
        (0.0, 3.0, True),
        (1.0, 0.0, True),
        (1e-38, 1e10, True),
        (1.0, np.inf, True),
        (1e38, 1.0, False),
        (3e38, 1.0, True),
    ],
)
def test_a_division_near_the_limits_takes_the_slow_path(a, b, careful):
    values = {"R1": np.full(LANES, a, np.float32), "R2": np.full(LANES, b, np.float32)}
    assert execute("FCHK P0, R1, R2", **values)["P0"][0] == careful


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PRMT.F5E R0, R1, R2, R3", "the modifier .F5E"),
        ("FADD.DENORM R0, R1, R2", "the modifier .DENORM"),
        ("IDP.2A R0, R1, R2, R3", "its form without types"),
        ("CS2R R0, SR_PM0", "the special register SR_PM0"),
        ("OMMA.16864.F32.E2M1.E2M1 R0, R1, R2, R4", "the opcode OMMA"),
        ("FADD R0, R1", "its form with 2 operands"),
        ("ISETP.AND P0, PT, R0, R1, PT", "its form without one of EQ, NE, LT, LE, GT, GE"),
        ("MUFU.RCP R0, R1.H1_H1", "the operand's modifier H1_H1"),
    ],
)
def test_what_is_not_modelled_is_named(text, reason):
    with pytest.raises(Unknown) as unknown:
        execute(text)
    assert str(unknown.value).startswith(reason)


@pytest.mark.parametrize("syncs", (True, False))
def test_a_nop_is_a_syncwarp_only_where_the_source_has_one(syncs):
    (statement,) = sass.parse("        /*0000*/                   NOP ;", "kernel.cu").statements
    effect = opcodes.outcome(Operands("sm_120", code=Code(syncs_warps=syncs)), statement, since=120)
    assert (effect is rules.NOTHING) is not syncs


def test_opcode_belongs_to_the_architectures_since_its_own():
    (statement,) = sass.parse("        /*0000*/                   VIADD R0, R1, 0x5 ;", "kernel.cu").statements
    with pytest.raises(Unknown, match="the opcode VIADD"):
        opcodes.outcome(Operands("sm_80"), statement, since=80)
    assert opcodes.outcome(Operands("sm_90"), statement, since=90).writes == (0,)


PIECES = ("R4", "-R6.reuse", "RZ", "UR4", "P1", "!P2", "PT", "PR", "B0", "0x3", "-0x1", "0.5", "+QNAN", "1e-40",
          "c[0x0][0x160]", "c[0x3][R0+0x10]", "[R2.64+0x10]", "[UR4+R3.X4]", "SR_TID.X", "SRZ", "SB0", "R5.H1_H1",
          "R5.B2", "`(.L_x_9)", "`(.L_x_1)", "~R9", "|R8|", "R7.64", "desc[UR4][R2.64+-0x8]")  # fmt: skip


@pytest.mark.parametrize("opcode", opcodes.OPCODES)
def test_rule_answers_or_declines_whatever_the_operands_are(opcode):
    row = opcodes.OPCODES[opcode]
    modifiers = [] if row.modifiers == opcodes.ANY else sorted(row.modifiers)
    random = np.random.default_rng(sum(map(ord, opcode)))
    for _ in range(300):
        words = [opcode, *random.choice(modifiers, min(len(modifiers), random.integers(0, 4)), replace=False)]
        operands = ", ".join(random.choice(PIECES, random.integers(0, 8)))
        text = f"        /*0010*/                   {'.'.join(words)} {operands} ;"
        (statement,) = sass.parse(text, "kernel.cu").statements
        code = Code(labels={".L_x_1": 0}, addresses={0: 0, 16: 1}, return_points=(1,), branch_targets={16: (0,)})
        with contextlib.suppress(Unknown):
            answer = opcodes.outcome(Operands("sm_90", 1024, code), statement, since=90)
            assert isinstance(answer, rules.Outcome)


# ---- 16-bit floats


def halves(*values: float) -> np.ndarray:
    """The same two float16 numbers, low first, in every lane."""
    return np.full(LANES, np.array(values, np.float16).view(np.uint32)[0])


def as_halves(register: np.ndarray) -> list[float]:
    return np.ascontiguousarray(register[:1]).view(np.float16).tolist()


def encoded(immediate: int) -> bytes:
    """The code of an instruction with an immediate operand."""
    return struct.pack("<IIQ", 0, immediate, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HMNMX2 R0, -R1, R2, PT", [-3.0, -4.0]),
        ("HMNMX2 R0, |R2|, R1, !PT", [3.0, 4.0]),
        ("HMNMX2 R0, -|R2|, R1, PT", [-2.0, -4.0]),
        ("HMNMX2 R0, R1, R2.H0_NH1, !PT", [3.0, 4.0]),
        ("HMNMX2 R0, R2.H0_H0, R1.H1_H1, !PT", [1.0, 1.0]),
    ],
)
def test_the_smaller_of_two_halves_heeds_signs_and_places(text, expected):
    assert as_halves(execute(text, R1=halves(3.0, 1.0), R2=halves(-2.0, -4.0))["R0"]) == expected


def test_larger_of_two_halves_may_be_an_immediate():
    result = execute("HMNMX2 R0, R1, 2, 1, !PT", encoded(0x40003C00), R1=halves(1.5, 1.5))
    assert as_halves(result["R0"]) == [1.5, 2.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VHMNMX R0, R1, R2, R3, !PT", [3.0, 1.0]),
        ("VHMNMX R0, R1, -R2, |R3|, PT", [2.0, 0.5]),
        ("VHMNMX R0, R1.H1_H1, R2.H0_H0, R3.H0_H0, !PT", [1.0, 1.0]),
        ("VHMNMX R0, R1, 2, 1, R3, !PT", [3.0, 2.0]),
    ],
)
def test_the_smallest_of_three_halves(text, expected):
    values = {"R1": halves(3.0, 1.0), "R2": halves(-2.0, -4.0), "R3": halves(-7.0, 0.5)}
    assert as_halves(execute(text, encoded(0x40003C00), **values)["R0"]) == expected


def test_half_comparisons_set_two_predicates_or_a_register():
    a, b = halves(1.0, 3.0), halves(2.0, 3.0)
    result = execute("HSETP2.LT.AND P0, P1, R1, R2, PT", R1=a, R2=b)
    assert (result["P0"][0], result["P1"][0]) == (True, False)
    result = execute("HSETP2.GT.AND P0, P1, R1, 2, 1, PT", encoded(0x40003C00), R1=a)
    assert (result["P0"][0], result["P1"][0]) == (False, True)
    assert execute("HSET2.GE.AND R0, R1, R2, PT", R1=a, R2=b)["R0"][0] == 0xFFFF0000
    assert execute("HSET2.BF.GE.AND R0, -R1, -R2, PT", R1=a, R2=b)["R0"][0] == 0x3C003C00


def test_a_nan_that_is_selected_keeps_the_bits_of_the_code():
    p = np.arange(LANES) % 2 == 0
    result = execute("FSEL R0, R1, +QNAN, P0", encoded(0x7FF00000), R1=np.ones(LANES, np.float32), P0=p)
    assert result["R0"][:2].tolist() == [bits(1.0), 0x7FF00000]


REPLAYED = {
    "ATOMG.E.CAS.128.STRONG.GPU PT, R0, [R8.64], R12, R16": "an atomic operation on 128 bits",
    "ATOM.E.ADD.F16x2.RN P0, R0, [R8.64], R4": "its answer in a predicate",
    "ATOMG.E.MAX.F16x2.RN.STRONG.GPU PT, R0, [R8.64], R4": "an atomic operation on floats other than a sum",
    "ATOMS.ARRIVE.64 RZ, [R4]": "an mbarrier of Ampere",
    "QSPC.E.S P0, RZ, [R8]": "the space of an address",
}


@pytest.mark.parametrize("text", REPLAYED)
def test_numpy_alone_executes_a_form_that_says_why(text):
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    operands = Operands("sm_90")
    assert isinstance(opcodes.outcome(operands, statement, since=100), rules.Effect)
    assert operands.decoded[statement.address].replayed == REPLAYED[text]


def test_vectors_of_floats_are_added_by_the_c_program():
    text = "ATOMG.E.ADD.F32x4.RN.STRONG.GPU PT, R0, [R8.64], R12"
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    operands = Operands("sm_90")
    effect = opcodes.outcome(operands, statement, since=100)
    decoded = operands.decoded[statement.address]
    assert not decoded.replayed
    assert (decoded.flags >> ELEMENTS_BIT, decoded.d_width, decoded.counts[2]) == (4, 4, 4)
    assert [operands.slots[name] for name in ("R0", "R1", "R2", "R3")] == list(effect.writes)
