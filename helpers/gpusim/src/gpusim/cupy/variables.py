"""`__device__` and `__constant__` variables: they belong to a module, and keep their values from launch to launch."""

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from gpusim.compiler.ptx import Variable, reached_from
from gpusim.cupy.arrays import MemoryPointer
from gpusim.engine.ir import Program
from gpusim.engine.memory import FIXED, GlobalMemory
from gpusim.errors import SimulatorError
from gpusim.symbols.pointers import name_in_source


class ModuleVariables:
    """The memory of a module's variables, which all its kernels share, at whichever level they are executed.

    A variable gets its initial value when the first kernel that uses it is launched, or when its pointer is asked for.
    """

    def __init__(self) -> None:
        self._storage: dict[str, np.ndarray] = {}

    def prepare(self, program: Program, args: Iterable = (), written: Collection[str] | None = None) -> None:
        """Allocate the variables that a program can reach, before the memory of its launch is made.

        A variable of the type of a pointer, if it is among those `written` (None: any may be), may keep an address for
        the next launch: then they and the arrays among the arguments keep theirs, as on a GPU.
        """
        named, declared = _named(program)
        self._allocate(named, declared)
        reached = list(reached_from(named, declared))
        if any(variable.may_hold_pointers and (written is None or variable.name in written) for variable in reached):
            for array in (*(self._storage[variable.name] for variable in reached), *args):
                if isinstance(array, np.ndarray):
                    FIXED.address(array)

    def _allocate(self, names: Iterable[str], declared: Mapping[str, Variable]) -> None:
        """Give variables, and what their initial values lead to, their memory; what an initial value points to keeps
        its address from then on, as if Python had asked for it."""
        new = [variable for variable in reached_from(names, declared) if variable.name not in self._storage]
        for variable in new:
            words = variable.align >= 4 and variable.bytes_ % 4 == 0
            # Zeros take no memory before they are touched: buffers for any shape are large, and little of them is used.
            storage = np.zeros(variable.bytes_ // (4 if words else 1), np.uint32 if words else np.uint8)
            if variable.data is not None:
                storage.view(np.uint8)[:] = np.frombuffer(variable.data, np.uint8)
            self._storage[variable.name] = storage
        for variable in new:
            for pointer in variable.pointers:
                pointer.put(self._storage[variable.name].view(np.uint8), FIXED.address(self._storage[pointer.name]))

    def link(self, program: Program, memory: GlobalMemory) -> tuple[tuple[int, int], ...]:
        """Put the variables that a program can reach into the memory of a launch: (register slot, address) of each that
        it names."""
        named, declared = _named(program)
        reached = {variable.name for variable in reached_from(named, declared)}
        placed = []
        for name, (_, slot) in program.global_variables.items():
            if name in reached:
                address = memory.add(self._storage[name], name)
                memory.find(address).name = name_in_source(name)
                placed += [] if slot is None else [(slot, address)]
        return tuple(placed)

    def pointer(self, variable: Variable, declared: Iterable[Variable]) -> MemoryPointer:
        """The memory of a variable, in which kernels and Python see what the other one writes. declared: all of the
        module, as PTX has them."""
        name, variables = name_in_source(variable.name), {each.name: each for each in declared}
        for reached in reached_from([variable.name], variables):
            if reached.unread or any(pointer.name not in variables for pointer in reached.pointers):
                raise SimulatorError(
                    f"{name_in_source(reached.name)} holds addresses of functions, which have none outside of a "
                    "launch: it can be neither read nor filled from Python. Let a kernel use it."
                )
        self._allocate([variable.name], variables)
        return MemoryPointer(name, self._storage[variable.name])


def _named(program: Program) -> tuple[list[str], dict[str, Variable]]:
    """(the variables whose addresses a program needs, all that it knows by name)."""
    known = program.global_variables.items()
    return [name for name, (_, slot) in known if slot is not None], {name: variable for name, (variable, _) in known}


def variable_called(name: str, declared: Iterable[Variable], source: str) -> Variable:
    """The variable of this name: in the machine code (`_ZN4conv7weightsE`), or in the source.

    In the source it may have its namespace before it, `conv::weights`, or not. SimulatorError, which lists the module's
    variables, if there is none, or if there are several. Those of included headers are not listed.
    """
    variables = {variable.name: variable for variable in declared}
    if name in variables:
        return variables[name]
    words = set(re.findall(r"\w+", source))
    own = {
        symbol: name_in_source(symbol) for symbol in variables if name_in_source(symbol).rpartition("::")[2] in words
    }
    matching = [symbol for symbol, named in own.items() if name in (named, named.rpartition("::")[2])]
    if len(matching) == 1:
        return variables[matching[0]]
    if matching:
        called = [own[symbol] for symbol in matching]
        choices = called if len(set(called)) == len(called) else matching
        raise SimulatorError(f"{name} is the name of {len(matching)} variables: say which one, {' or '.join(choices)}.")
    if not own:
        raise SimulatorError(
            f"The module has no variable {name}, and no other: only those that are declared outside of all functions, "
            "__device__ or __constant__, can be reached from Python."
        )
    listed = ", ".join(
        f"{own[symbol]} ({'__constant__' if variables[symbol].space == 'const' else '__device__'}, "
        f"{variables[symbol].bytes_} bytes)"
        for symbol in own
    )
    raise SimulatorError(f"The module has no variable {name}. It has: {listed}.")
