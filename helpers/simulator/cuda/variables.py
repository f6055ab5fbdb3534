"""`__device__` and `__constant__` variables: they belong to a module, and keep their values from launch to launch."""

import numpy as np

from helpers.compiler.ptx import Variable
from helpers.simulator.engine.ir import Program
from helpers.simulator.engine.memory import GlobalMemory
from helpers.simulator.sanitizer.pointers import name_in_source


class ModuleVariables:
    """The memory of a module's variables, which all its kernels share, at whichever level they are executed.

    A variable gets its initial value when the first kernel that uses it is launched.
    """

    def __init__(self) -> None:
        self._storage: dict[str, np.ndarray] = {}

    def place(self, program: Program, memory: GlobalMemory) -> tuple[tuple[int, int], ...]:
        """Put the variables that a program uses into the memory of a launch: (register slot, address) of each."""
        placed = []
        for name, (variable, slot) in program.global_variables.items():
            if slot is not None:
                address = memory.add(self._of(variable), name)
                memory.find(address).name = name_in_source(name)
                placed.append((slot, address))
        return tuple(placed)

    def _of(self, variable: Variable) -> np.ndarray:
        if variable.name not in self._storage:
            data = variable.data if variable.data is not None else bytes(variable.bytes_)
            words = variable.align >= 4 and len(data) % 4 == 0
            self._storage[variable.name] = np.frombuffer(bytearray(data), np.uint32 if words else np.uint8)
        return self._storage[variable.name]
