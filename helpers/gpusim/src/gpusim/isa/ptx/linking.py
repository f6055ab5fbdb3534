"""A kernel and the functions that it calls, put together to one text in which calls and returns are jumps.

Every function has registers of its own, whose names are made unique as `name@function`. What a function is given and
returns, its variables and what it saves lie in a frame on the thread's stack, which grows upwards in local memory; the
register STACK holds where the frame of the function that runs begins, and ORIGIN the kernel's call that led there. A
function from which the same one may be called again saves the registers that it still needs before the call. Where it
returns to is in a register, too.

Reference: PTX ISA, 'Function Declarations and Definitions' and 'call'.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gpusim.compiler import ptx
from gpusim.compiler.ptx import Address, Function, Minus, Module, Not, Register, Statement, Symbol, Variable, Vector
from gpusim.isa.ptx.flow import live_after
from gpusim.isa.ptx.layout import local_layout

STACK, ORIGIN = "%stack", "%origin"
# What functions that are active more than once get of the stack. A GPU gives 1024 bytes by default, to frames that are
# smaller, since most of what is passed is in registers there.
RECURSION_BYTES = 4096
FRAME_ALIGNMENT = 16
# Functions of code for a debugger, of one instruction each, which the system is taken to provide.
STOPS = ("__trap", "__brkpt")


def return_register(function: str) -> str:
    """The register that says which of its calls a function returns behind."""
    return f"%return@{function}"


@dataclass(frozen=True, slots=True)
class Call:
    """The call that is statement `index`, made by function `caller` ("" for the kernel), of one of `callees`.

    `saved`: the caller's registers that it needs after the call and might lose, each with its place in the frame.
    """

    index: int
    caller: str
    callees: tuple[str, ...]
    saved: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class Linked:
    """The text of a kernel with all that it calls: the kernel's statements first, at their own places.

    `starts`: by function its first statement; `frames`: its bytes on the stack; `calls`: by the index of the statement.
    `places`: by the name of a parameter or variable of a function, where it lies from STACK on. `pointed_at` are the
    functions whose address is taken. `stack_bytes` is what a thread needs at most, with `RECURSION_BYTES` where
    functions call themselves.
    """

    function: Function
    starts: dict[str, int] = field(default_factory=dict)
    frames: dict[str, int] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    pointed_at: tuple[str, ...] = ()
    stack_bytes: int = 0

    def owner(self, index: int) -> str:
        """The function that a statement belongs to, "" for the kernel."""
        return max((start, name) for name, start in {"": 0, **self.starts}.items() if start <= index)[1]

    def in_order(self) -> list[str]:
        """The functions, each behind all that may call it; not those that may call themselves, nor what they call."""
        callers = {name: {call.caller for call in self.returns_to(name)} for name in self.starts}
        sorted_names = [""]
        while left := [
            name for name, those in callers.items() if name not in sorted_names and those <= {*sorted_names}
        ]:
            sorted_names += left
        return sorted_names[1:]

    def depths(self) -> dict[str, int]:
        """By function where its frame begins on the stack, if it does so for every caller."""
        starts_at: dict[str, int | None] = {"": 0}
        for name in self.in_order():
            starts = {
                None if starts_at[call.caller] is None else starts_at[call.caller] + self.frames[call.caller]
                for call in self.returns_to(name)
            }
            starts_at[name] = starts.pop() if len(starts) == 1 else None
        return {name: start for name, start in starts_at.items() if start is not None}

    def returns_to(self, function: str) -> list[Call]:
        """The calls that a function may return from."""
        return [call for call in self.calls.values() if function in call.callees]


def link(module: Module, kernel: Function) -> Linked:
    """The kernel with the functions that it may call, of which none is left out and none is there twice."""
    pointed_at = tuple(_pointed_at(module))
    functions = {name: module.called[name] for name in _reached(module, kernel, pointed_at)}
    if not functions:
        return Linked(kernel)
    callees = {
        name: {index: names for index in _calls(text) if (names := _callees(module, text, index, pointed_at))}
        for name, text in (("", kernel), *functions.items())
    }
    reaches = {name: _closure(name, callees) for name in functions}
    linked = Linked(_beginning(kernel), pointed_at=tuple(name for name in pointed_at if name in functions))
    linked.function.registers |= {STACK: "b64", ORIGIN: "b32"}
    linked.frames[""] = max(FRAME_ALIGNMENT, _aligned(local_layout(module, kernel)[1]))  # a callee is above 0
    layouts = {name: _Layout(name, text, callees[name], reaches) for name, text in functions.items()}
    linked.frames |= {name: layout.size for name, layout in layouts.items()}
    for name, text in (("", kernel), *functions.items()):
        start = len(linked.function.statements) if name else 0
        if name:
            linked.starts[name] = start
            linked.places |= layouts[name].places
            _append(linked.function, text, name)
        saved = layouts[name].saved if name else {}
        for index, called in callees[name].items():
            linked.calls[start + index] = Call(start + index, name, called, saved.get(index, ()))
            linked.places |= _arguments(text, index, name, linked.frames[name])
    recursive = any(name in reaches[name] for name in functions)
    linked.stack_bytes = sum(linked.frames.values()) + RECURSION_BYTES if recursive else _deepest("", linked, callees)
    return linked


# ---- the call graph


def _calls(text: Function) -> list[int]:
    return [index for index, statement in enumerate(text.statements) if statement.name == "call"]


def called(statement: Statement):
    """What a call names as the function: a Symbol, or a register that holds an address."""
    return next(operand for operand in statement.operands if not isinstance(operand, Vector))


def _callees(module: Module, text: Function, index: int, pointed_at: Iterable[str]) -> tuple[str, ...]:
    """The functions of the module that a call may reach; none where the system provides the function.

    Through a pointer that are all whose parameters lie as those of the call do.
    """
    statement = text.statements[index]
    function = called(statement)
    if isinstance(function, Symbol):
        is_own = function.name in module.called and function.name not in STOPS
        return (function.name,) if is_own else ()
    given = _places(_passed(text, statement))
    return tuple(name for name in pointed_at if _places(module.called[name].passed) == given)


def _pointed_at(module: Module) -> Iterator[str]:
    """The functions of a module whose addresses are taken, by a variable or by an instruction."""
    if not module.called:
        return
    texts = (*module.functions.values(), *module.called.values())
    names = [pointer.name for variable in module.variables for pointer in variable.pointers]
    for text in texts:
        for statement in text.statements:
            if statement.name != "call":
                names += [operand.name for operand in statement.operands if isinstance(operand, Symbol)]
    for name in dict.fromkeys(names):
        if name in module.called:
            yield name


def _reached(module: Module, kernel: Function, pointed_at: Sequence[str]) -> list[str]:
    """The functions that may be called, in the order in which they are met."""
    reached: dict[str, None] = {}
    texts = [kernel]
    while texts:
        text = texts.pop()
        for index in _calls(text):
            for name in _callees(module, text, index, pointed_at):
                if name not in reached:
                    reached[name] = None
                    texts.append(module.called[name])
    return list(reached)


def _closure(name: str, callees: dict[str, dict[int, tuple[str, ...]]]) -> set[str]:
    """The functions that may be active at some time above this one."""
    reached: set[str] = set()
    following = [name]
    while following:
        for names in callees[following.pop()].values():
            following += [callee for callee in names if callee not in reached]
            reached |= set(names)
    return reached


def _deepest(name: str, linked: Linked, callees: dict[str, dict[int, tuple[str, ...]]]) -> int:
    """Bytes of the stack that a function and what it calls need, where no function comes back to itself."""
    above = {callee for names in callees[name].values() for callee in names}
    return linked.frames[name] + max((_deepest(callee, linked, callees) for callee in above), default=0)


# ---- frames


def _aligned(bytes_: int, align: int = FRAME_ALIGNMENT) -> int:
    return -(-bytes_ // align) * align


def _places(variables: Iterable[Variable]) -> list[tuple[int, int]]:
    """(first byte, bytes) of variables that lie one after the other, each aligned as it wants."""
    places, end = [], 0
    for variable in variables:
        start = _aligned(end, variable.align)
        end = start + variable.bytes_
        places.append((start, variable.bytes_))
    return places


def _passed(text: Function, statement: Statement) -> list[Variable]:
    """What a call passes, in the order of `Function.passed`: results, then arguments."""
    vectors = [operand for operand in statement.operands if isinstance(operand, Vector)]
    return [text.arguments[item.name] for vector in vectors for item in vector.items if item.name in text.arguments]


def _arguments(text: Function, index: int, owner: str, frame: int) -> dict[str, int]:
    """What a call passes lies at the beginning of the frame of the called function, which follows the caller's."""
    passed = _passed(text, text.statements[index])
    return {
        _own(variable.name, owner): frame + start for variable, (start, _) in zip(passed, _places(passed), strict=True)
    }


class _Layout:
    """The frame of a function: what is passed, its variables, then what it saves, by the index of the call."""

    def __init__(self, name: str, text: Function, callees: dict[int, tuple[str, ...]], reaches) -> None:
        local = [variable for variable in text.variables if variable.space == "local"]
        self.places: dict[str, int] = {}
        end = 0
        for variable, (start, bytes_) in zip((*text.passed, *local), _places((*text.passed, *local)), strict=True):
            self.places[_own(variable.name, name)] = start
            end = start + bytes_
        again = [
            index for index, names in callees.items() if any(other == name or name in reaches[other] for other in names)
        ]
        self.saved: dict[int, tuple[tuple[str, int], ...]] = {}
        after = live_after(text, again) if again else {}
        self.size = end = _aligned(end, 8)
        for index in again:
            kept = [
                (return_register(name), "b32"),
                *(
                    (_own(register, name), text.registers[register])
                    for register in after[index]
                    if register in text.registers
                ),
            ]
            kept.sort(key=lambda register: -ptx.TYPE_BYTES[register[1]])  # so that each lies where it may
            starts, offset = [], end
            for _, type_ in kept:
                starts.append(offset)
                offset += ptx.TYPE_BYTES[type_]
            self.saved[index] = tuple((register, start) for (register, _), start in zip(kept, starts, strict=True))
            self.size = max(self.size, offset)
        self.size = _aligned(self.size)


# ---- texts


def _own(name: str, function: str) -> str:
    """The name that something of a function has in the text of all."""
    return f"{name}@{function}" if function else name


def _beginning(kernel: Function) -> Function:
    """A copy of the kernel that others may be put behind."""
    return replace(
        kernel, registers=dict(kernel.registers), variables=list(kernel.variables), labels=dict(kernel.labels),
        statements=list(kernel.statements), branch_tables=dict(kernel.branch_tables), unplaced=set(kernel.unplaced),
    )  # fmt: skip


def _append(text: Function, function: Function, name: str) -> None:
    """Put the statements of a called function behind those that are there."""
    start = len(text.statements)
    local = [variable.name for variable in function.variables if variable.space == "local"]
    passed = [variable.name for variable in function.passed]
    names = {
        variable: _own(variable, name)
        for variable in (
            *function.registers,
            *function.labels,
            *function.branch_tables,
            *function.arguments,
            *passed,
            *local,
        )
    }
    text.registers |= {names[register]: type_ for register, type_ in function.registers.items()}
    text.registers[return_register(name)] = "b32"
    text.labels |= {names[label]: start + index for label, index in function.labels.items()}
    text.branch_tables |= {
        names[table]: tuple(names[label] for label in labels) for table, labels in function.branch_tables.items()
    }
    text.unplaced |= {start + index for index in function.unplaced}
    text.variables += [variable for variable in function.variables if variable.space != "local"]
    text.statements += [
        statement.with_operands(
            tuple(_renamed(operand, names) for operand in statement.operands), _renamed(statement.guard, names)
        )
        for statement in function.statements
    ]


def _renamed(operand, names: dict[str, str]):
    match operand:
        case Register() | Symbol():
            return replace(operand, name=names.get(operand.name, operand.name))
        case Not() | Minus():
            return replace(operand, register=_renamed(operand.register, names))
        case Vector():
            return replace(operand, items=tuple(_renamed(item, names) for item in operand.items))
        case Address():
            coordinates = tuple(_renamed(item, names) for item in operand.coordinates)
            return Address(_renamed(operand.base, names), operand.offset, coordinates)
    return operand
