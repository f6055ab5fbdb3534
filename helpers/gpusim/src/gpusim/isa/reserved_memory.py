"""The shared memory that the system keeps for itself, from sm_80 on, which cooperative groups use for large tiles.

The simulator does not have it. Code for a debugger asks for its address whether it goes there or not, all other code
only if it does.
"""

from gpusim.compiler import CompiledKernel, ptx
from gpusim.errors import in_reserved_memory

REGISTER = "%reserved_smem_offset"  # of PTX, as it begins: machine code has a number in its place


def may_come_there(kernel: CompiledKernel) -> bool:
    """Whether accesses may go there, which is found when they do.

    Raises:
        UnsupportedInstruction: they certainly do.
    """
    if REGISTER not in kernel.ptx:
        return False
    if kernel.debug:
        return True
    function = ptx.parse(kernel.ptx).functions.get(kernel.lowered_name)
    if function is not None and any(REGISTER in statement.text for statement in function.statements):
        raise in_reserved_memory(kernel.entry)
    return False
