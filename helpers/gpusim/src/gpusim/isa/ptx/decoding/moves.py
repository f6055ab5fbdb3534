"""Moves between registers, addresses and special registers."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Register, Special, Statement, Symbol, Vector
from gpusim.devices import WARP, limits_for, sms_for
from gpusim.engine.memory import LOCAL_WINDOW, RESERVED_AT, SHARED_WINDOW, product
from gpusim.engine.run import CLOCKS, UPPER_CLOCKS
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.bits import logic_of_predicates
from gpusim.isa.ptx.decoding.decoder import Decoder, bits_of
from gpusim.isa.ptx.linking import STACK
from gpusim.isa.ptx.operands import dtype_of

# Where the generic addresses of a state space begin and end; those of global memory are its own.
WINDOWS = {"global": (0, SHARED_WINDOW), "shared": (SHARED_WINDOW, LOCAL_WINDOW), "local": (LOCAL_WINDOW, 1 << 62)}


def move(t: Decoder, s: Statement) -> Decoded:
    """mov.type d, a: a register, a constant, a special register, an address; packing and unpacking of vectors."""
    destination, source = s.operands
    if isinstance(source, Special) and source.name == "WARP_SZ":
        return moved(t, destination, t.number(WARP))
    if isinstance(source, Special):
        return _move_special(t, destination, source.name.removeprefix("%"))
    if isinstance(destination, Vector):
        return _unpack(t, s.type, destination, source)
    if isinstance(source, Vector):
        return _pack(t, s.type, destination, source)
    dtype_of(s.type)  # refuses a type that is not modelled under its own name
    if s.type == "pred":
        return logic_of_predicates(t, s)
    if isinstance(source, Symbol) and source.name in t.operands.parameters:
        if not t.operands.has_constants_of_the_grid:
            raise NotDecoded(f"the address of {source.name}")
        offset = t.operands.parameters[source.name].offset
        return _sum(t, destination, t.behind_addresses(0), t.number(offset, wide=True))
    if isinstance(source, Symbol) and source.name in t.operands.text.places:
        return _added(t, destination, Register(STACK), t.operands.text.places[source.name])
    return moved(t, destination, t.value(source, s.type))


def moved(t: Decoder, destination, rows: tuple[int, ...]) -> Decoded:
    i = Decoded("move two" if len(rows) == 2 else "move")
    for position, row in enumerate(rows):
        i.source[position], i.width[position] = row, 1
    t.writes(i, destination, 4 * len(rows))
    return i


# The place of a block in its cluster, and of the cluster: what is divided by the cluster's size, and whether the
# quotient is wanted, not the rest.
IN_CLUSTERS = {"cluster_ctaid": ("CTAID", 0), "clusterid": ("CTAID", 1), "nclusterid": ("NCTAID", 1)}


def _move_special(t: Decoder, destination, name: str) -> Decoded:
    prefix, _, axis = name.partition(".")
    cluster = t.operands.cluster or (1, 1, 1)
    match prefix:
        case "is_explicit_cluster":
            i = Decoded("predicate logic3", number=[0xF0, 0, 0, 0])
            i.p_out[0], i.p_in[0] = t.kept(destination), ALWAYS if t.operands.cluster else ALWAYS | NEGATED
            return i
        case "nwarpid":
            return moved(t, destination, t.number(limits_for(t.arch).threads_per_sm // WARP))
        case "reserved_smem_offset_1":
            return moved(t, destination, t.number(RESERVED_AT))
        case "nsmid":
            return moved(t, destination, t.number(sms_for(t.arch)))
        case "cluster_nctarank":
            return moved(t, destination, t.number(product(cluster)))
        case "cluster_nctaid":
            return moved(t, destination, t.number(cluster["xyz".index(axis)]))
        case "envreg1" | "envreg2":  # the upper and the lower half of an address
            return moved(t, destination, t.behind_addresses(8)[prefix == "envreg1" :][:1])
    if prefix in (*CLOCKS, *UPPER_CLOCKS):
        of_all = prefix.startswith("globaltimer")
        i = Decoded("clock", kind=form.TAKES_TIME, number=[int(prefix in UPPER_CLOCKS), int(of_all), 0, 0])
        t.writes(i, destination, CLOCKS[prefix].itemsize if prefix in CLOCKS else 4)
        return i
    number = [0, 0, 0, 0]
    if prefix in IN_CLUSTERS:
        prefix, is_quotient = IN_CLUSTERS[prefix]
        number[1:3] = cluster["xyz".index(axis)], is_quotient
    elif prefix == "smid":
        number[1] = sms_for(t.arch)
    known = "CgaCtaId" if prefix == "cluster_ctarank" else prefix.upper() + f".{axis.upper()}" * bool(axis)
    if prefix.startswith("lanemask_"):
        known = f"{prefix.removeprefix('lanemask_').upper()}MASK"
    if known not in form.SPECIAL_REGISTERS:
        raise NotDecoded(f"the special register %{name}")
    number[0] = form.SPECIAL_REGISTERS[known]
    i = Decoded("special register", number=number)
    t.writes(i, destination, 4)
    return i


def _unpack(t: Decoder, type_: str, destination: Vector, source) -> Decoded:
    count = len(destination.items)
    bits = bits_of(type_) // count
    i = Decoded("unpack parts", number=[bits, count, 0, 0])
    t.read(i, 0, source, f"b{bits_of(type_)}")
    if bits == 32:
        rows = t.value(source, f"b{bits_of(type_)}")
        i = Decoded("move two", source=[*rows, 0, 0], width=[1, 1, 0, 0])
    if bits > 32 or count < 2:
        raise NotDecoded("a vector of one")
    t.writes_vector(i, destination.items, bits // 8)
    return i


def _pack(t: Decoder, type_: str, destination, source: Vector) -> Decoded:
    bits = bits_of(type_) // len(source.items)
    if bits == 32:
        return moved(t, destination, tuple(t.value(item, "b32")[0] for item in source.items))
    if bits not in (8, 16):
        raise NotDecoded("its form")
    i = Decoded("pack parts", number=[bits, 0, 0, 0])
    for position, item in enumerate(source.items):
        t.read(i, position, item, f"b{bits}")
    t.writes(i, destination, TYPE_BYTES[type_])
    return i


def convert_address(t: Decoder, s: Statement) -> Decoded:
    space = next((part.split("::")[0] for part in s.modifiers if part != "to"), "generic")
    destination, source = s.operands
    window = WINDOWS.get(space, (0, 0))[0]
    if space not in (*WINDOWS, "const", "param"):
        raise NotDecoded(f"the state space .{space}")
    if not window:
        return moved(t, destination, t.value(source, "b64"))
    return _added(t, destination, source, -window if "to" in s.modifiers else window)


def _added(t: Decoder, destination, source, number: int) -> Decoded:
    """An address and a constant."""
    return _sum(t, destination, t.value(source, "b64"), t.number(number, wide=True))


def _sum(t: Decoder, destination, a: Sequence[int], b: Sequence[int]) -> Decoded:
    """The sum of 64 bits that lie in these rows."""
    i = Decoded("add wide")
    i.source[:2], i.width[:2] = [a[0], b[0]], [2, 2]
    t.zero(i, 2, wide=True)
    i.p_in = [ALWAYS | NEGATED] * 2 + [ALWAYS]
    t.writes(i, destination, 8)
    return i


def is_in_space(t: Decoder, s: Statement) -> Decoded:
    """isspacep.space p, a: whether a generic address lies in a state space."""
    space, _, window = s.opcode[1].partition("::")
    if space not in WINDOWS:
        raise NotDecoded(f"the state space .{space}")
    destination, source = s.operands
    if space == "shared" and window != "cluster" and product(t.operands.cluster or ()) > 1:
        i = Decoded("query space", flags=form.WIDE_ADDRESS, replayed="whether shared memory is the own block's")
        i.number[0] = form.SHARED
        t.read(i, 0, source, "b64")
        i.p_out[0] = t.kept(destination)
        return i
    first, stop = WINDOWS[space]
    i = Decoded("whole number", number=[form.WHOLE_NUMBERS["isspacep"], 64, first >> 32, stop >> 32])
    t.read(i, 0, source, "b64")
    i.p_out[0] = t.kept(destination)
    return i
