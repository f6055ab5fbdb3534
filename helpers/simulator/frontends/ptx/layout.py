"""Where the variables of shared and of local memory lie, in the order in which PTX declares them.

The machine code keeps the same order in shared memory.
"""

import re

from helpers.compiler.ptx import Address, Function, Module, Symbol, Variable


def shared_variables(module: Module, function: Function) -> list[Variable]:
    """The __shared__ variables that a kernel uses, in the order in which PTX declares them."""
    shared = [v for v in (*module.variables, *function.variables) if v.space == "shared"]
    names = re.compile("|".join(re.escape(variable.name) for variable in shared))
    used = set()
    for statement in function.statements if shared else ():
        for operand in statement.operands if names.search(statement.text) else ():
            base = operand.base if isinstance(operand, Address) else operand
            if isinstance(base, Symbol):
                used.add(base.name)
    return [variable for variable in shared if variable.name in used]


def shared_layout(module: Module, function: Function) -> tuple[dict[str, int], int]:
    """(the first byte of each variable by its name in PTX, bytes of the static ones together).

    Static variables lie in the order of their declarations, each aligned as it wants. Dynamic shared memory, whose size
    is not declared, follows at the next multiple of 16 bytes, or where it wants to be aligned: then the bytes between
    count among the static ones.
    """
    offsets: dict[str, int] = {}
    end = 0
    variables = shared_variables(module, function)
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
