"""Atomic operations of PTX: atom, which returns the old value, and red, which does not."""

from helpers.compiler.ptx import Statement, Vector
from helpers.simulator.arithmetic.atomics import OPERATIONS, update
from helpers.simulator.engine import accesses
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.memory import is_strong, ordered, place_of
from helpers.simulator.frontends.ptx.operands import Operands, dtype_of
from helpers.simulator.frontends.rules import Effect, Outcome


def atomic(t: Operands, s: Statement) -> Outcome:
    """atom.order.scope.space.op.type d, [address], b {, c}; red … [address], b. PTX ISA, 'atom' and 'red'."""
    returns = s.name == "atom"
    name = next((part for part in s.modifiers if part in OPERATIONS), None)
    if name is None:
        raise Unknown("the atomic operation")
    destination, (address, *sources) = (s.operands[0], s.operands[1:]) if returns else (None, s.operands)
    if any(isinstance(source, Vector) for source in sources):
        raise Unknown("an atomic operation on a vector")
    if len(sources) > (2 if name == "cas" else 1):
        sources.pop()  # a cache policy
    (space, place), dtype = place_of(t, s, address), dtype_of(s.type)
    # Float32 sums in global memory flush subnormal numbers, those in shared memory keep them.
    function = update(name, s.type, flushes=space != "shared")
    values = [t.read(source, s.type) for source in sources]
    execute = ordered(s, accesses.atomic(space, function, dtype, place, values, returns))
    swaps, strong = name == "cas", is_strong(s)
    if not returns:
        return Effect((), execute, swaps=swaps, strong=strong)
    slot = t.target(destination)
    fit = t.fit(slot, dtype)
    widened = execute if fit is None else (lambda wave, r, mask: tuple(fit(old) for old in execute(wave, r, mask)))
    return Effect((slot,), widened, swaps=swaps, strong=strong)
