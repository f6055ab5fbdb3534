"""Readers of operands put together to the evaluation of an instruction, for the rules of both front ends."""

from collections.abc import Callable, Sequence
from functools import cache

from helpers.simulator.arithmetic import float32
from helpers.simulator.arithmetic.operations import operation
from helpers.simulator.frontends.rules import Reader


def applied(function: Callable, readers: Sequence[Reader]) -> Reader:
    """function(operands…) with as little calling overhead as possible."""
    if len(readers) == 1:
        (a,) = readers
        return lambda registers: function(a(registers))
    if len(readers) == 2:
        a, b = readers
        return lambda registers: function(a(registers), b(registers))
    if len(readers) == 3:
        a, b, c = readers
        return lambda registers: function(a(registers), b(registers), c(registers))
    return lambda registers: function(*(reader(registers) for reader in readers))


def flushing(name: str, modifiers: Sequence[str], readers: Sequence[Reader]) -> Reader:
    """A float32 operation with "ftz" among its modifiers, as `operation` knows them.

    Its operands are looked at only if a subnormal number was seen since the launch (see `ir.Registers`).
    """
    if name == "div":  # what it flushes is more than what is subnormal in the end
        return applied(operation(name, modifiers, "f32"), readers)
    careful, quick = _both(name, tuple(modifiers))

    def evaluate(registers):
        values = [reader(registers) for reader in readers]
        return careful(*values) if registers.subnormal else float32.flush(quick(*values))

    return evaluate


@cache
def _both(name: str, modifiers: tuple[str, ...]) -> tuple[Callable, Callable]:
    """The operation with "ftz", and without it."""
    without = [modifier for modifier in modifiers if modifier != "ftz"]
    return operation(name, modifiers, "f32"), operation(name, without, "f32")
