"""Where the variables of shared and of local memory lie.

The machine code keeps variables of shared memory in the order in which PTX declares them, those behind that functions
access which the kernel calls. Code for a debugger has small variables before large ones.
"""

import re
from collections.abc import Collection, Container, Iterable

from gpusim.compiler.ptx import Address, Function, Module, Statement, Symbol


def _used(statements: Iterable[Statement], names: Collection[str]) -> set[str]:
    """The variables of these names that statements access, or take the address of."""
    pattern, used = re.compile("|".join(map(re.escape, names))), set()
    for statement in statements if names else ():
        for operand in statement.operands if pattern.search(statement.text) else ():
            base = operand.base if isinstance(operand, Address) else operand
            if isinstance(base, Symbol):
                used.add(base.name)
    return used


def shared_layout(module: Module, kernel: Function, called: Container[str], debug: bool) -> tuple[dict[str, int], int]:
    """(the first byte of each variable by its name in PTX, bytes of the static ones together), of those that a kernel
    uses, or a function that may be `called`.

    Static variables lie one behind the other, each aligned as it wants. Dynamic shared memory, whose size is not
    declared, follows at the next multiple of 16 bytes, or where it wants to be aligned: then the bytes between count
    among the static ones.

    debug: whether it is code for a debugger (-G).
    """
    functions = [function for name, function in module.called.items() if name in called]
    declared = (*module.variables, *(variable for text in (*functions, kernel) for variable in text.variables))
    shared = {variable.name: variable for variable in declared if variable.space == "shared"}
    last = _used((statement for text in functions for statement in text.statements), shared)
    first = _used(kernel.statements, shared) - last
    variables = [variable for names in (first, last) for variable in shared.values() if variable.name in names]
    if debug:
        order = {name: rank for rank, name in enumerate(shared)}
        variables.sort(key=lambda variable: (-variable.align, variable.bytes_, order[variable.name]))
    offsets: dict[str, int] = {}
    end = 0
    for variable in variables:
        if variable.bytes_:
            offsets[variable.name] = -(-end // variable.align) * variable.align
            end = offsets[variable.name] + variable.bytes_
    dynamic = [variable for variable in variables if not variable.bytes_]
    aligned = max((16, *(variable.align for variable in dynamic)))
    behind = -(-end // aligned) * aligned
    offsets |= {variable.name: behind for variable in dynamic}
    return offsets, behind if aligned > 16 else end


def local_layout(module: Module, function: Function) -> tuple[dict[str, int], int]:
    """(the first byte of each variable of local memory by its name in PTX, bytes of all together)."""
    offsets: dict[str, int] = {}
    end = 0
    for variable in (*module.variables, *function.variables):
        if variable.space == "local":
            offsets[variable.name] = -(-end // variable.align) * variable.align
            end = offsets[variable.name] + variable.bytes_
    return offsets, end
