"""mov, cvt, cvta and isspacep of PTX. Reference: PTX ISA, 'Data Movement and Conversion Instructions'."""

import numpy as np

from helpers.compiler import ptx
from helpers.compiler.ptx import Immediate, Register, Special, Statement, Symbol, Vector
from helpers.simulator.arithmetic import float8, float32, integer
from helpers.simulator.arithmetic.conversions import INTEGERS, conversion
from helpers.simulator.arithmetic.operations import refuse_unknown
from helpers.simulator.engine.clusters import RANK_SHIFT
from helpers.simulator.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from helpers.simulator.engine.run import CLOCKS, SPECIAL_REGISTERS, UPPER_CLOCKS
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import DTYPES, Operands, dtype_of
from helpers.simulator.frontends.rules import Compute, Effect, Outcome

WARP_SIZE = Immediate(32, 32)
ADDRESS = DTYPES["s64"]
# Where the generic addresses of a state space begin and end; those of global memory are its own.
WINDOWS = {"global": (0, SHARED_WINDOW), "shared": (SHARED_WINDOW, LOCAL_WINDOW), "local": (LOCAL_WINDOW, 1 << 62)}


def move(t: Operands, s: Statement) -> Outcome:
    """mov.type d, a: a register, a constant, a special register, an address; packing and unpacking of vectors."""
    destination, source = s.operands
    if isinstance(source, Special):
        if source.name != "WARP_SZ":
            return _move_special(t, destination, source.name.removeprefix("%"))
        source = WARP_SIZE
    dtype_of(s.type)  # refuses a type that is not modelled under its own name
    if isinstance(destination, Vector):
        return _unpack(t, s.type, destination, source)
    if isinstance(source, Vector):
        return _pack(t, s.type, destination, source)
    slot = t.target(destination)
    if isinstance(source, Symbol) and source.name in t.global_variables:
        return Compute((slot,), t.pointer(source))
    if isinstance(source, Symbol) and source.name in t.parameters and t.has_constants_of_the_grid:
        offset = np.int64(t.parameters[source.name].offset)
        return Effect((slot,), lambda wave, registers, mask: (np.int64(wave.launch.parameters_at) + offset,))
    return Compute((slot,), t.read(source, s.type), copies=isinstance(source, Register))


def _move_special(t: Operands, destination, name: str) -> Outcome:
    if name not in SPECIAL_REGISTERS:
        raise Unknown(f"the special register %{name}")
    if name in CLOCKS or name in UPPER_CLOCKS:
        return Effect((t.target(destination),), lambda wave, registers, mask: (wave.time(name, mask),))
    return Effect((t.target(destination),), lambda wave, registers, mask: (wave.special_value(name),))


def _unpack(t: Operands, type_: str, destination: Vector, source) -> Outcome:
    count = len(destination.items)
    if count == 1:
        raise Unknown("a vector of one")
    part = ptx.TYPE_BYTES[type_] // count
    wide, narrow = dtype_of(f"u{8 * ptx.TYPE_BYTES[type_]}"), dtype_of(f"u{8 * part}")
    whole, shifts = t.read(source, f"u{8 * wide.itemsize}"), [wide.type(8 * part * i) for i in range(count)]
    writes = tuple(t.target(item) for item in destination.items)
    return Compute(writes, lambda registers: tuple((whole(registers) >> shift).astype(narrow) for shift in shifts))


def _pack(t: Operands, type_: str, destination, source: Vector) -> Outcome:
    wide = dtype_of(f"u{8 * ptx.TYPE_BYTES[type_]}")
    part = wide.itemsize // len(source.items)
    parts = [t.read(item, f"u{8 * part}") for item in source.items]

    def evaluate(registers):
        value = parts[0](registers).astype(wide)
        for position, item in enumerate(parts[1:], 1):
            value = value | (item(registers).astype(wide) << wide.type(8 * part * position))
        return value

    return Compute((t.target(destination),), evaluate)


def convert(t: Operands, s: Statement) -> Outcome:
    """cvt{.rounding}{.ftz}{.sat}.to.from d, a; to f16x2, bf16x2, e4m3x2 and e5m2x2 d, high, low; cvt.pack."""
    if s.opcode[1] == "pack":
        return _convert_and_pack(t, s)
    to, origin, modifiers = s.opcode[-2], s.opcode[-1], s.opcode[1:-2]
    destination, *sources = s.operands
    if {to, origin} & {"e4m3x2", "e5m2x2"}:
        return _convert_eight_bits(t, s)
    if to in ("bf16x2", "f16x2"):
        return _convert_pair(t, s, to.removesuffix("x2"))
    if len(sources) > 1:
        raise Unknown(f"a conversion to {to}")
    a = t.read(sources[0], origin)
    if to == "tf32":
        refuse_unknown(modifiers, ("rna", "rn", "rz"))
        return t.result(destination, lambda r: float32.to_tf32(a(r), modifiers[0]), dtype_of("f32"))
    if to in INTEGERS and origin in INTEGERS:
        refuse_unknown(modifiers, ("sat",))
        result, saturate = dtype_of(to), "sat" in modifiers
        return t.result(destination, lambda r: integer.convert(a(r), result, saturate), result)
    function = conversion(to, origin, modifiers)
    t.subnormal |= to == "f32" and origin == "f64" and "ftz" not in modifiers
    return t.result(destination, lambda r: function(a(r)), dtype_of(to))


def _convert_and_pack(t: Operands, s: Statement) -> Outcome:
    """cvt.pack.sat.to.s32{.b32} d, high, low{, above}: of numbers of less than 16 bits what is above them, too."""
    to, *types = s.opcode[3:]
    destination, high, low, *above = s.operands
    if s.opcode[2] != "sat" or types != ["s32", *["b32"] * len(above)] or len(above) != (to not in ("s16", "u16")):
        raise Unknown(f"the conversion {'.'.join(s.opcode)}")
    a, b, (c,) = t.read(high, "s32"), t.read(low, "s32"), [t.read(each, "u32") for each in above] or [None]
    bits, is_signed = int(to[1:]), to[0] == "s"
    evaluate = lambda r: integer.packed(a(r), b(r), c(r) if c else np.uint32(0), bits, is_signed)  # noqa: E731
    return t.result(destination, evaluate, DTYPES["u32"])


def _convert_pair(t: Operands, s: Statement, to: str) -> Outcome:
    if len(s.operands) != 3:
        raise Unknown(f"a conversion from {s.type} to {to}x2")
    destination, high, low = s.operands
    halves = [t.read(operand, s.type) for operand in (low, high)]
    narrow = conversion(to, s.type, s.opcode[1:-2])

    def evaluate(registers):
        low, high = (narrow(half(registers)).view(np.uint16).astype(np.uint32) for half in halves)
        return low | (high << np.uint32(16))

    return t.result(destination, evaluate, DTYPES["u32"])


def _convert_eight_bits(t: Operands, s: Statement) -> Outcome:
    """cvt.rn.satfinite{.relu}.e4m3x2.{f32,f16x2}, cvt.rn{.relu}.f16x2.e4m3x2."""
    to, origin, modifiers = s.opcode[-2], s.opcode[-1], s.opcode[1:-2]
    refuse_unknown(modifiers, ("rn", "satfinite", "relu"))
    destination, *sources = s.operands
    if to == "f16x2" and "relu" not in modifiers:
        pair = t.read(sources[0], "u16")
        function = lambda r: float8.to_halves(pair(r).astype(np.uint32), origin.removesuffix("x2"))  # noqa: E731
        return t.result(destination, function, DTYPES["u32"])
    name, relu = to.removesuffix("x2"), "relu" in modifiers
    if origin == "f32":
        high, low = (t.read(operand, "f32") for operand in sources)
    elif origin == "f16x2":
        word = t.read(sources[0], "u32")
        half = lambda shift: lambda r: (word(r) >> np.uint32(shift)).astype(np.uint16).view(np.float16)  # noqa: E731
        high, low = half(16), half(0)
    else:
        raise Unknown(f"a conversion from {origin} to {to}")
    function = lambda r: float8.from_pair(high(r), low(r), name, relu).astype(np.uint16)  # noqa: E731
    return t.result(destination, function, DTYPES["u16"])


def convert_address(t: Operands, s: Statement) -> Outcome:
    """cvta{.to}.space d, a: between a state space's own addresses and generic ones."""
    space = next((part.split("::")[0] for part in s.modifiers if part != "to"), "generic")
    if space not in (*WINDOWS, "const", "param"):
        raise Unknown(f"the state space .{space}")
    destination, source = s.operands
    a = t.pointer(source)
    window = np.int64(WINDOWS.get(space, (0, 0))[0])
    if window == 0:
        return t.result(destination, a, ADDRESS)
    window = -window if "to" in s.modifiers else window
    return t.result(destination, lambda registers: a(registers) + window, ADDRESS)


def is_in_space(t: Operands, s: Statement) -> Outcome:
    """isspacep.space p, a: whether a generic address lies in a state space."""
    space, _, window = s.opcode[1].partition("::")
    if space not in WINDOWS:
        raise Unknown(f"the state space .{space}")
    destination, source = s.operands
    a, (start, stop) = t.read(source, "s64"), WINDOWS[space]
    slot = t.target(destination)
    if space != "shared" or window == "cluster":
        return Compute((slot,), lambda r: (a(r) >= start) & (a(r) < stop))

    def in_own_block(wave, registers, mask):
        address = a(registers)
        rank = address - start >> RANK_SHIFT  # plus one, 0 for the own block (`clusters`)
        own = (rank == 0) | (rank == wave.special["cluster_ctarank"] + 1)
        return ((address >= start) & (address < stop) & own,)

    return Effect((slot,), in_own_block)
