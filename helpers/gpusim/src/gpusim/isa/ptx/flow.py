"""Which registers the statements of PTX read and write, as far as their text tells."""

from collections.abc import Sequence

from gpusim.compiler.ptx import Address, Function, Minus, Not, Register, Statement, Vector

READ_ONLY = ("st", "red", "bra", "brx", "ret", "exit", "bar", "barrier", "membar", "fence", "call", "cp", "prefetch")


def written(statement: Statement) -> list[str]:
    """The registers that a statement may write."""
    return registers_of(statement.operands[0]) if statement.operands and statement.name not in READ_ONLY else []


def registers_of(operand) -> list[str]:
    """The registers that an operand names."""
    if isinstance(operand, Register):
        return [operand.name]
    if isinstance(operand, Vector):
        return [name for item in operand.items for name in registers_of(item)]
    if isinstance(operand, Address):
        return registers_of(operand.base)
    return [operand.register.name] if isinstance(operand, Not | Minus) else []


def live_after(function: Function, calls: Sequence[int]) -> dict[int, list[str]]:
    """By the index of a call, the registers of the function that are read after it before they are written anew."""
    statements = function.statements
    reads, writes = zip(*(reads_and_writes(statement) for statement in statements), strict=True)
    ways = [following(function, index) for index in range(len(statements))]
    live: list[set[str]] = [set() for _ in statements]
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(statements))):
            now = _live_in(live, ways[index]) - writes[index] | reads[index]
            changed |= now != live[index]
            live[index] = now
    return {index: sorted(_live_in(live, ways[index])) for index in calls}


def _live_in(live: list[set[str]], indices: Sequence[int]) -> set[str]:
    return set().union(*(live[index] for index in indices))


def reads_and_writes(statement: Statement) -> tuple[set[str], set[str]]:
    """(what is read for sure or maybe, what is written for sure)."""
    operands = statement.operands
    first = operands[0] if operands and statement.name not in READ_ONLY else None
    result = set(registers_of(first)) if isinstance(first, Register | Vector) else set()
    rest = operands[1:] if isinstance(first, Register | Vector) else operands
    reads = {name for operand in (*rest, statement.guard) for name in registers_of(operand)}
    return reads, result if statement.guard is None else set()


def following(function: Function, index: int) -> list[int]:
    """The statements that may come after one, where a call comes back behind itself."""
    statement, targets = function.statements[index], []
    if statement.name == "bra":
        targets = [function.labels.get(statement.operands[0].name)]
    elif statement.name == "brx":
        targets = [function.labels.get(label) for label in function.branch_tables.get(statement.operands[1].name, ())]
    leaves = statement.guard is None and statement.name in ("bra", "brx", "ret", "exit", "trap")
    if not leaves:
        targets.append(index + 1)
    return [target for target in targets if target is not None and target < len(function.statements)]
