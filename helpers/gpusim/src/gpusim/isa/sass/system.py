"""What SASS asks of the system: special registers, clocks, printf, assert and malloc; and what changes no value."""

import numpy as np

from gpusim.compiler import sass
from gpusim.engine import accesses, heap, printf
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from gpusim.engine.observers import WarpBarrierReached
from gpusim.engine.run import CLOCKS, UPPER_CLOCKS
from gpusim.errors import Unknown, UnsupportedInstruction
from gpusim.isa.rules import NOTHING, Compute, Effect
from gpusim.isa.sass.operands import I4, Operands, at_least, exactly, halves

# Special registers by the name that the engine knows them under.
SPECIAL = {
    **{f"SR_{name}.{axis.upper()}": f"{key}.{axis}" for name, key in (("TID", "tid"), ("CTAID", "ctaid"),
       ("NTID", "ntid"), ("NCTAID", "nctaid")) for axis in "xyz"},
    "SR_LANEID": "laneid", "SR_LTMASK": "lanemask_lt", "SR_LEMASK": "lanemask_le", "SR_GTMASK": "lanemask_gt",
    "SR_GEMASK": "lanemask_ge", "SR_EQMASK": "lanemask_eq", "SR_WARPID": "warpid", "SR_NWARPID": "nwarpid",
    "SR_CLOCKLO": "clock", "SR_CLOCKHI": "clock_hi", "SR_GLOBALTIMERLO": "globaltimer_lo",
    "SR_CgaCtaId": "cluster_ctarank", "SR_GLOBALTIMERHI": "globaltimer_hi", "SR_VIRTUALSMID": "smid",
    "SR_VIRTID": "virtid", "SR_VIRTCFG": "virtcfg",
}  # fmt: skip
# Without clusters a block's rank is 0; windows lie at the upper half of generic addresses.
# SR_LMEMHIOFF is the lowest place that the stack may reach: with -G code looks whether it does. Here an access says so.
SPECIAL_CONSTANTS = {
    "SR_CgaCtaId": 0, "SR_SWINHI": SHARED_WINDOW >> 32, "SR_LWINHI": LOCAL_WINDOW >> 32, "SRZ": 0, "SR_LMEMHIOFF": 0,
    "SR_CgaSize": 0,
}  # fmt: skip
FUNCTIONS = {
    "vprintf": printf.vprintf, "__assertfail": printf.assert_fail, "malloc": heap.malloc, "free": heap.free,
    "__trap": printf.trap, "__brkpt": printf.trap,
}  # fmt: skip
FUNCTION_ADDRESSES = {name: (1 << 62) + 16 * number for number, name in enumerate(FUNCTIONS, 1)}


def special_register(t: Operands, s: sass.Statement) -> Effect:
    """S2R, S2UR, CS2R.32 d, SR_…."""
    destination, source = exactly(s, 2)
    if not isinstance(source, sass.Special):
        raise Unknown("an operand that is no special register where one is expected")
    if source.name in SPECIAL_CONSTANTS and not (source.name == "SR_CgaCtaId" and t.code.clusters):
        constant = np.int32(SPECIAL_CONSTANTS[source.name])
        return Effect((t.target(destination),), lambda wave, registers, mask: (constant,))
    if source.name not in SPECIAL:
        raise Unknown(f"the special register {source.name}")
    key = SPECIAL[source.name]
    if key in CLOCKS or key in UPPER_CLOCKS:
        return Effect((t.target(destination),), lambda wave, registers, mask: (wave.time(key, mask).view(I4),))
    return Effect((t.target(destination),), lambda wave, registers, mask: (wave.special_value(key).view(I4),))


def call(t: Operands, s: sass.Statement) -> Effect:
    """CALL.ABS.NOINC R8: a function that the system provides, such as printf, at a 64-bit address; or by its name.

    Arguments are in R4:R5, R6:R7 and so on; the return address is that of the next instruction.
    """
    function = at_least(s, 1)[-1]
    named = np.int64(FUNCTION_ADDRESSES[function.name]) if isinstance(function, sass.Label) else None
    target = t.wide(function) if named is None else lambda registers: named
    arguments = [t.wide(sass.Register("R", number)) for number in (4, 6)]
    by_address = {address: FUNCTIONS[name] for name, address in FUNCTION_ADDRESSES.items()}

    def execute(wave, registers, mask):
        where = np.broadcast_to(target(registers), wave.shape)
        where = int(where.reshape(-1)[0] if mask is None else where[mask][0])
        if where not in by_address:
            raise UnsupportedInstruction(f"{wave.program.name} calls a function through a pointer (`{s.text}`).")
        wave.call_parameters = {number: argument(registers) for number, argument in enumerate(arguments)}
        address = by_address[where](wave, registers, mask)
        return (np.int32(0), np.int32(0)) if address is None else halves(address)

    return Effect((t.slot("R4"), t.slot("R5")), execute)


def trap(t: Operands, s: sass.Statement) -> Effect:
    """BPT.TRAP."""
    return Effect((), printf.trap)


def position(t: Operands, s: sass.Statement) -> Effect:
    """LEPC d: the address of the code, which only return addresses of the system's functions are made of."""
    destination, *_ = at_least(s, 1)
    return Effect(t.targets(destination, 2), lambda wave, registers, mask: (np.int32(s.address), np.int32(0)))


def nothing(t: Operands, s: sass.Statement) -> Effect:
    """A hint to the scheduler or to a cache, a wait: no value changes."""
    return NOTHING


def sleep(t: Operands, s: sass.Statement) -> Effect:
    """NANOSLEEP a: clocks go on."""
    return Effect((), accesses.sleep(t.read(at_least(s, 1)[-1])))


def no_operation(t: Operands, s: sass.Statement) -> Effect:
    """NOP: what ptxas leaves of `__syncwarp()` where it knows that the lanes of a warp are together.

    For sm_120 that of CUDA 13 puts some around FP64 instructions, too: where no `__syncwarp()` is called, it is none.
    """
    return Effect((), _together) if t.code.syncs_warps else NOTHING


def _together(wave, registers, mask) -> None:
    if wave.observers is not None:
        wave.observers.tell(WarpBarrierReached(wave, mask))


def special_pair(t: Operands, s: sass.Statement) -> Compute | Effect:
    """CS2R d, SRZ: zero, or CS2R d, SR_CLOCKLO: a 64-bit clock, to a pair of registers; CS2R.32 to one."""
    destination, source = exactly(s, 2)
    if source != sass.Special("SRZ"):
        low = special_register(t, s)
        if s.has("32"):
            return low
        upper = {"SR_CLOCKLO": "clock_hi", "SR_GLOBALTIMERLO": "globaltimer_hi"}.get(source.name)
        if upper is None:
            raise Unknown(f"a pair of registers from {source.name}")
        return Effect(
            t.targets(destination, 2),
            lambda wave, registers, mask: (*low.execute(wave, registers, mask), wave.time(upper, mask).view(I4)),
        )
    if s.has("32"):
        return Compute((t.target(destination),), lambda registers: np.int32(0))
    return Compute(t.targets(destination, 2), lambda registers: (np.int32(0), np.int32(0)))
