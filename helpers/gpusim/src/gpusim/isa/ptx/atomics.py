"""Atomic operations of PTX: atom, which returns the old value, and red, which does not."""

from gpusim.arithmetic.atomics import OPERATIONS, update
from gpusim.compiler.ptx import Statement, Vector
from gpusim.engine import accesses
from gpusim.errors import Unknown
from gpusim.isa.ptx.memory import is_strong, ordered, place_of
from gpusim.isa.ptx.operands import Operands, dtype_of, items_of
from gpusim.isa.rules import Effect, Outcome


def atomic(t: Operands, s: Statement) -> Outcome:
    """atom.order.scope.space.op.type d, [address], b {, c}; red … [address], b. PTX ISA, 'atom' and 'red'."""
    returns = s.name == "atom"
    name = next((part for part in s.modifiers if part in OPERATIONS), None)
    if name is None:
        raise Unknown("the atomic operation")
    destination, (address, *sources) = (s.operands[0], s.operands[1:]) if returns else (None, s.operands)
    if len(sources) > (2 if name == "cas" else 1):
        sources.pop()  # a cache policy
    (space, place), dtype = place_of(t, s, address), dtype_of(s.type)
    # Float32 sums in global memory flush subnormal numbers, those in shared memory keep them.
    function = update(name, s.type, flushes=space != "shared")
    # Of vectors each element is updated by itself.
    parts = items_of(sources[0]) if isinstance(sources[0], Vector) else sources
    count = len(parts) if isinstance(sources[0], Vector) else 1
    values = [t.read(part, s.type) for part in parts]
    execute = ordered(s, accesses.atomic(space, function, dtype, place, values, returns, count))
    swaps, strong = name == "cas", is_strong(s)
    if not returns:
        return Effect((), execute, swaps=swaps, strong=strong)
    slots = tuple(t.target(item) for item in items_of(destination))
    fits = [t.fit(slot, dtype) for slot in slots]

    def widened(wave, registers, mask):
        old = execute(wave, registers, mask)
        return tuple(value if fit is None else fit(value) for fit, value in zip(fits, old, strict=True))

    return Effect(slots, widened if any(fits) else execute, swaps=swaps, strong=strong)
