"""PTX statements → a Program: what every instruction of the language does.

The rules are the PTX ISA's, section 9.7 'Instructions'; arithmetic lives in `integer` and `float32`, memory and
cross-lane instructions in `accesses`. Here are the tables that connect names with functions, and the operand rules:

- a register has a fixed width; an instruction's type says how its bits are read;
- a source register may be wider than the type of ld, st and cvt: the low bits count;
- a result narrower than its register is extended by its own sign.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from helpers.compiler import CompiledKernel, ptx
from helpers.compiler.ptx import Address, Immediate, Not, Register, Special, Statement, Symbol, Variable, Vector
from helpers.simulator.arithmetic import float32, integer
from helpers.simulator.arithmetic.conversions import conversion
from helpers.simulator.arithmetic.operations import operation
from helpers.simulator.engine import accesses, printf
from helpers.simulator.engine.accesses import calls_a_function, unsupported
from helpers.simulator.engine.ir import Instruction, Kind, Program, Registers, basic_blocks, uncollected
from helpers.simulator.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from helpers.simulator.engine.run import SPECIAL_REGISTERS
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.layout import shared_layout

DTYPES = {
    "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8), "b8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16), "s16": np.dtype(np.int16), "b16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32), "b32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64), "s64": np.dtype(np.int64), "b64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool),
    "f16x2": np.dtype(np.uint32), "bf16x2": np.dtype(np.uint32), "bf16": np.dtype(np.uint16),
}  # fmt: skip
# A register's own dtype: loads and address arithmetic are cheapest on these.
STORAGE = {"pred": np.dtype(bool), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
STORAGE_BY_BYTES = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
SPACES = ("global", "shared", "local", "const", "param")
NO_OPERATION = ("prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "griddepcontrol",
                "pmevent", "setmaxnreg")  # fmt: skip
ASYNCHRONOUS_GROUPS = ("commit_group", "wait_group", "wait_all")
COMPARE: dict[str, Callable] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b, "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
    # The unordered forms are true if an operand is NaN.
    "equ": lambda a, b: ~((a < b) | (a > b)), "neu": lambda a, b: ~(a == b),
    "ltu": lambda a, b: ~(a >= b), "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b), "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
COMBINE: dict[str, Callable] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip
INTEGER: dict[str, Callable] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "mul.hi": integer.multiply_high,
    "mul.wide": integer.multiply_wide,
    "mad.lo": lambda a, b, c: a * b + c,
    "mad.hi": lambda a, b, c: integer.multiply_high(a, b) + c,
    "div": integer.divide,
    "rem": integer.remainder,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "neg": lambda a: -a,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "cnot": lambda a: (a == 0).astype(a.dtype),
    "sad": lambda a, b, c: np.where(a < b, b - a, a - b) + c,
    "popc": integer.population_count,
    "clz": integer.leading_zeros,
    "brev": integer.reverse_bits,
}
PREDICATE: dict[str, Callable] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": np.logical_not,
    "mov": lambda a: a,
}


class Translator:
    """One kernel on its way from statements to instructions."""

    def __init__(self, kernel: CompiledKernel, module: ptx.Module, function: ptx.Function) -> None:
        self.kernel = kernel
        self.function = function
        self.slots: dict[str, int] = {}
        self.types: list[str] = []
        self.initial: list[np.generic] = []
        for name, type_ in function.registers.items():
            self.slots[name] = len(self.types)
            self.types.append(type_)
            storage = STORAGE.get(type_) or STORAGE_BY_BYTES[ptx.TYPE_BYTES[type_]]
            self.initial.append(storage.type(0))
        self.subnormal = False
        self.local_offsets: dict[str, int] = {}
        self.local_bytes = self._place_local((*module.variables, *function.variables))
        self.shared_offsets, self.shared_bytes = shared_layout(module, function)
        # Dynamic shared memory has no bytes of its own: what is placed behind all static variables is that.
        self.dynamic_offset = max((self.shared_bytes, *self.shared_offsets.values()))
        self.globals_ = {v.name: v for v in module.variables if v.space in ("global", "const")}
        self.parameters = {
            name: place for (name, _, _), place in zip(function.parameters, kernel.parameters, strict=True)
        }

    def _place_local(self, variables: Sequence[Variable]) -> int:
        """Lay out the variables of local memory in order; returns their bytes."""
        end = 0
        for variable in variables:
            if variable.space == "local":
                end = -(-end // variable.align) * variable.align
                self.local_offsets[variable.name] = end
                end += variable.bytes_
        return end

    # ---- operands
    def slot(self, register: Register) -> int | None:
        """The slot of a destination; None for `_`."""
        return None if register.name == "_" else self.slots[register.name]

    def read(self, operand, type_: str) -> Callable[[Registers], np.ndarray]:
        """How to get an operand as `type_`."""
        dtype = DTYPES[type_]
        if isinstance(operand, Immediate):
            constant = self._constant(operand, dtype)
            return lambda registers: constant
        if isinstance(operand, Not):
            slot = self.slots[operand.register.name]
            return lambda registers: np.logical_not(registers[slot])
        if isinstance(operand, Symbol):
            constant = dtype.type(self.symbol_address(operand.name))
            return lambda registers: constant
        if not isinstance(operand, Register):
            raise ValueError(f"operand {operand}")
        slot = self.slots[operand.name]
        width = ptx.TYPE_BYTES[self.types[slot]]
        if dtype.kind == "b":
            return lambda registers: registers[slot]
        if width > dtype.itemsize:
            narrow, store = np.dtype(f"i{dtype.itemsize}"), STORAGE_BY_BYTES[width]
            return lambda registers: registers[slot].view(store).astype(narrow).view(dtype)

        if type_ == "f32":

            def read_float(registers):
                value = registers[slot]
                if value.dtype is not dtype:
                    value = value.view(dtype)
                    registers.note(value)
                return value

            return read_float

        def read(registers):
            value = registers[slot]
            return value if value.dtype is dtype else value.view(dtype)

        return read

    def _constant(self, operand: Immediate, dtype: np.dtype):
        if dtype.kind == "b":
            return np.bool_(operand.value)
        if dtype.kind == "f" and isinstance(operand.value, float):
            self.subnormal |= dtype.itemsize == 4 and 0 < abs(operand.value) < float32.SMALLEST_NORMAL
            return np.array(operand.bits, f"u{dtype.itemsize}").view(dtype)[()]
        bits = operand.bits & ((1 << 8 * dtype.itemsize) - 1)
        return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]

    def symbol_address(self, name: str) -> int:
        """The address of a variable in its own space (global variables get theirs when the module is loaded)."""
        if name in self.shared_offsets:
            return self.shared_offsets[name]
        if name in self.local_offsets:
            return self.local_offsets[name]
        raise KeyError(name)

    def address(self, operand: Address) -> Callable[[Registers], np.ndarray]:
        """The byte address of `[base + offset]` as int64."""
        offset = np.int64(operand.offset)
        if isinstance(operand.base, Symbol) and operand.base.name not in self.globals_:
            constant = np.int64(self.symbol_address(operand.base.name)) + offset
            return lambda registers: constant
        if isinstance(operand.base, Symbol):
            base = self._global_address(operand.base.name)
        elif isinstance(operand.base, Immediate):
            constant = np.int64(operand.base.value) + offset
            return lambda registers: constant
        else:
            slot = self.slots[operand.base.name]
            if ptx.TYPE_BYTES[self.types[slot]] == 4:
                # 32-bit shared addresses, as inline PTX uses them.
                base = self.read(operand.base, "u32")
                return lambda registers: base(registers).astype(np.int64) + offset
            base = self.read(operand.base, "s64")
        if offset == 0:
            return base
        return lambda registers: base(registers) + offset

    def _global_address(self, name: str) -> Callable[[Registers], np.ndarray]:
        """A module variable's address is known only at launch: it is kept in a slot of its own."""
        if self.globals_[name].addresses:
            raise ValueError(f"{name} holds addresses")
        key = f"&{name}"
        if key not in self.slots:
            self.slots[key] = len(self.types)
            self.types.append("b64")
            self.initial.append(np.int64(0))
        slot = self.slots[key]
        return lambda registers: registers[slot]

    def value_reads(self, statement: Statement) -> tuple[int, ...]:
        """Slots of all registers that appear anywhere in the operands (more is harmless for liveness)."""
        names: list[str] = []

        def visit(operand):
            if isinstance(operand, Register):
                names.append(operand.name)
            elif isinstance(operand, Not):
                names.append(operand.register.name)
            elif isinstance(operand, Vector):
                for item in operand.items:
                    visit(item)
            elif isinstance(operand, Address):
                visit(operand.base)

        first_is_destination = statement.opcode[0] not in (
            "st",
            "red",
            "bar",
            "barrier",
            "bra",
            "ret",
            "exit",
            "cp",
            "call",
            "brx",
        )
        for position, operand in enumerate(statement.operands):
            if position == 0 and first_is_destination and not isinstance(operand, Address):
                continue
            visit(operand)
        return tuple(self.slots[name] for name in names if name in self.slots)

    def fit(self, slot: int | None, dtype: np.dtype) -> Callable | None:
        """How a result of `dtype` is widened to its register; None if it already has its width."""
        if slot is None or dtype.kind == "b":
            return None
        width = ptx.TYPE_BYTES[self.types[slot]]
        if width <= dtype.itemsize or self.types[slot] == "pred":
            return None
        if dtype.kind == "f":
            bits, wide = np.dtype(f"u{dtype.itemsize}"), np.dtype(f"u{width}")
            return lambda value: value.view(bits).astype(wide)
        wide = np.dtype(f"{dtype.kind}{width}")
        return lambda value: value.astype(wide)


def _called_function(statement: Statement) -> str | None:
    """The name that a `call` of a function of the module has in the source; None for any other instruction.

    A call through a pointer has no name: "a function".
    """
    if statement.opcode[0] != "call":
        return None
    mangled = next((operand.name for operand in statement.operands if isinstance(operand, Symbol)), "")
    if found := re.match(r"_Z(\d+)", mangled):
        return mangled[found.end() : found.end() + int(found[1])]
    return mangled or "a function"


def _addresses(statement: Statement):
    return [operand for operand in statement.operands if isinstance(operand, Address)]


@uncollected
def translate(kernel: CompiledKernel) -> Program:
    """The executable program of a compiled kernel at PTX level. UnsupportedInstruction names what is not known."""
    module = ptx.parse(kernel.ptx)
    function = module.functions[kernel.lowered_name]
    translator = Translator(kernel, module, function)
    instructions = []
    for index, statement in enumerate(function.statements):
        try:
            instruction = _instruction(translator, statement, index)
        except (Unknown, KeyError, ValueError, IndexError, AttributeError) as error:
            if called := _called_function(statement):
                raise calls_a_function(called, statement.line) from None
            raise unsupported(statement.text, statement.line, "PTX") from error
        if statement.guard is not None:
            negated = isinstance(statement.guard, Not)
            register = statement.guard.register if negated else statement.guard
            instruction.guard = (translator.slots[register.name], negated)
        instructions.append(instruction)
    program = Program(
        name=kernel.entry,
        level="ptx",
        arch=kernel.arch,
        instructions=instructions,
        initial=translator.initial,
        parameters=kernel.parameters,
        shared_bytes=translator.shared_bytes,
        dynamic_shared_offset=translator.dynamic_offset,
        local_bytes=translator.local_bytes,
        subnormal=translator.subnormal,
        registers_per_thread=kernel.registers,
        max_threads=function.max_threads,
        source_lines=tuple(kernel.source.splitlines()),
    )
    program.global_variables = {
        name: (variable, translator.slots.get(f"&{name}")) for name, variable in translator.globals_.items()
    }
    program.blocks = basic_blocks(instructions, in_meeting_order=True)
    return program


def _instruction(t: Translator, statement: Statement, index: int) -> Instruction:
    """One statement; raises KeyError or ValueError for what is not known."""
    opcode, operands = statement.opcode, statement.operands
    name = opcode[0]
    instruction = Instruction(index, statement.text, ".".join(opcode), statement.line, Kind.ALU)
    instruction.called_from = statement.called_from
    instruction.reads = t.value_reads(statement)
    if name in ("bra", "brx", "ret", "exit", "bar", "barrier", "trap", "call"):
        _control(t, instruction, statement)
    elif name in EFFECTS:
        instruction.kind = Kind.EFFECT
        EFFECTS[name](t, instruction, statement)
    elif name == "cp":
        instruction.kind = Kind.EFFECT
        _copy_async(t, instruction, statement)
    elif name in ("membar", "fence"):
        instruction.kind = Kind.EFFECT
        instruction.execute = accesses.fence(_fence_scope(opcode))
    elif name in NO_OPERATION:
        instruction.kind = Kind.EFFECT
        instruction.execute = lambda wave, registers, mask: None
    else:
        destination, instruction.evaluate, dtype = _arithmetic(t, opcode, operands)
        instruction.writes = tuple(t.slot(register) for register in destination)
        if opcode == ("fma", "rn", "ftz", "f32"):
            instruction.fma = tuple(t.read(operand, "f32") for operand in operands[1:])
        fits = [t.fit(slot, dtype) for slot in instruction.writes]
        if fits[0] is not None:
            fit, evaluate = fits[0], instruction.evaluate
            instruction.evaluate = lambda registers: fit(evaluate(registers))
    return instruction


# ---- control flow


def _control(t: Translator, instruction: Instruction, statement: Statement) -> None:
    name, operands = statement.opcode[0], statement.operands
    if name == "bra":
        instruction.kind = Kind.BRANCH
        instruction.target = t.function.labels[operands[0].name]
    elif name == "brx":
        instruction.kind = Kind.BRANCH
        labels = t.function.branch_tables[operands[1].name]
        instruction.targets = tuple(t.function.labels[label] for label in labels)
        instruction.select = t.read(operands[0], "s32")
    elif name in ("ret", "exit"):
        instruction.kind = Kind.EXIT
    elif name in ("bar", "barrier"):
        if "warp" in statement.opcode:
            instruction.kind = Kind.WARP_BARRIER
            return
        which = operands[0] if operands else Immediate(0, 0)
        if "sync" not in statement.opcode or len(operands) > 1 or not isinstance(which, Immediate) or which.value != 0:
            raise ValueError("named barriers")
        instruction.kind = Kind.BARRIER
    elif name == "trap":
        instruction.kind = Kind.EFFECT
        instruction.execute = printf.trap
    else:
        instruction.kind = Kind.EFFECT
        callee = next(operand.name for operand in operands if isinstance(operand, Symbol))
        instruction.execute = {"vprintf": printf.vprintf, "__assertfail": printf.assert_fail}[callee]


# ---- memory and lanes


def _space(opcode: tuple[str, ...]) -> str:
    for part in opcode[1:]:
        space = part.split("::")[0]
        if space in SPACES:
            return "global" if space == "const" else space
    return "generic"


def _items(operand) -> tuple:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _load(t: Translator, instruction: Instruction, statement: Statement) -> None:
    opcode, (destination, place) = statement.opcode, statement.operands[:2]
    dtype, space = DTYPES[opcode[-1]], _space(opcode)
    items = _items(destination)
    instruction.writes = tuple(t.slot(item) for item in items)
    if space == "param":
        name = place.base.name
        if name in t.parameters:
            instruction.execute = _load_parameter(t.parameters[name].offset + place.offset, dtype, len(items))
        else:
            # The result of a call to printf: the number of its arguments, which nobody needs.
            instruction.execute = lambda wave, registers, mask: (dtype.type(0),)
    else:
        # The low 4 or 8 bytes of a float register can be loaded in the register's own dtype.
        slot = next((s for s in instruction.writes if s is not None), None)
        own = t.initial[slot].dtype if slot is not None else dtype
        dtype = own if own.itemsize == dtype.itemsize else dtype
        instruction.execute = accesses.load(space, dtype, len(items), t.address(place))
    fits = [t.fit(slot, dtype) for slot in instruction.writes]
    if any(fits):
        execute = instruction.execute

        def widened(wave, registers, mask):
            values = execute(wave, registers, mask)
            return tuple(fit(value) if fit else value for fit, value in zip(fits, values, strict=True))

        instruction.execute = widened


def _load_parameter(offset: int, dtype: np.dtype, count: int):
    def execute(wave, registers, mask):
        values = tuple(np.frombuffer(wave.parameters, dtype, count, offset))
        if dtype == np.dtype(np.float32):
            for value in values:
                registers.note(value)
        return values

    return execute


def _store(t: Translator, instruction: Instruction, statement: Statement) -> None:
    opcode, (place, source) = statement.opcode, statement.operands[:2]
    space = _space(opcode)
    type_ = opcode[-1]
    values = [t.read(item, type_) for item in _items(source)]
    if space == "param":
        name, offset = place.base.name, place.offset
        instruction.execute = lambda wave, registers, mask: wave.call_parameters.__setitem__(
            (name, offset), values[0](registers)
        )
        return
    instruction.execute = accesses.store(space, t.address(place), values)


def _atomic(t: Translator, instruction: Instruction, statement: Statement) -> None:
    opcode, operands = statement.opcode, statement.operands
    returns = opcode[0] == "atom"
    operation = next(part for part in opcode[1:] if part in accesses.ATOMIC_OPERATIONS)
    type_ = opcode[-1]
    place, *sources = operands[1:] if returns else operands
    if returns:
        instruction.writes = (t.slot(operands[0]),)
    instruction.execute = accesses.atomic(
        _space(opcode), operation, DTYPES[type_], t.address(place), [t.read(s, type_) for s in sources], returns
    )


def _copy_async(t: Translator, instruction: Instruction, statement: Statement) -> None:
    """cp.async.{ca,cg}.shared.global [to], [from], size {, source size | ignore predicate}; and its groups."""
    if statement.opcode[1] != "async" or statement.opcode[2] not in ("ca", "cg", *ASYNCHRONOUS_GROUPS):
        raise ValueError("bulk copies")
    if statement.opcode[2] in ASYNCHRONOUS_GROUPS:
        pending = statement.operands[0].value if statement.operands else 0
        instruction.execute = accesses.copy_group(statement.opcode[2], pending)
        return
    to, origin, size, *rest = statement.operands
    source_size = skip = None
    for operand in rest:
        if isinstance(operand, Register) and t.types[t.slots[operand.name]] == "pred" or isinstance(operand, Not):
            skip = t.read(operand, "pred")
        elif not (isinstance(operand, Register) and ptx.TYPE_BYTES[t.types[t.slots[operand.name]]] == 8):
            source_size = t.read(operand, "u32")
    instruction.execute = accesses.copy_async(size.value, t.address(to), t.address(origin), source_size, skip)


def _fence_scope(opcode: tuple[str, ...]) -> str:
    """Who sees the memory in order after membar.{cta,gl,sys} or fence.{sc,acq_rel}.{cta,cluster,gpu,sys}."""
    scopes = {"cta": "block", "gl": "device", "gpu": "device", "sys": "system"}
    return next((scopes[part] for part in opcode if part in scopes), "block")


def _shuffle(t: Translator, instruction: Instruction, statement: Statement) -> None:
    destination, value, lane, control = statement.operands[:4]
    items = _items(destination)
    instruction.writes = (t.slot(items[0]), t.slot(items[1]) if len(items) > 1 else None)
    instruction.execute = accesses.shuffle(
        statement.opcode[2], t.read(value, "b32"), t.read(lane, "u32"), t.read(control, "u32")
    )


def _vote(t: Translator, instruction: Instruction, statement: Statement) -> None:
    instruction.writes = (t.slot(statement.operands[0]),)
    instruction.execute = accesses.vote(statement.opcode[2], t.read(statement.operands[1], "pred"))


def _active_mask(t: Translator, instruction: Instruction, statement: Statement) -> None:
    instruction.writes = (t.slot(statement.operands[0]),)
    instruction.execute = accesses.active_mask()


def _reduce_warp(t: Translator, instruction: Instruction, statement: Statement) -> None:
    type_ = statement.opcode[-1]
    instruction.writes = (t.slot(statement.operands[0]),)
    instruction.execute = accesses.reduce_warp(statement.opcode[2], DTYPES[type_], t.read(statement.operands[1], type_))


def _move_special(t: Translator, instruction: Instruction, name: str) -> None:
    key = name.removeprefix("%")
    if key not in SPECIAL_REGISTERS:
        raise KeyError(name)
    instruction.execute = lambda wave, registers, mask: (wave.special_value(key),)


def _move(t: Translator, instruction: Instruction, statement: Statement) -> None:
    """mov: from a register, a constant, a special register, an address; packing and unpacking of vectors."""
    destination, source = statement.operands
    type_ = statement.opcode[-1]
    if isinstance(source, Special):
        if source.name == "WARP_SZ":
            source = Immediate(32, 32)
        else:
            instruction.writes = (t.slot(destination),)
            _move_special(t, instruction, source.name)
            return
    instruction.kind = Kind.ALU
    if isinstance(destination, Vector):
        part = ptx.TYPE_BYTES[type_] // len(destination.items)
        whole, narrow = t.read(source, f"u{8 * ptx.TYPE_BYTES[type_]}"), np.dtype(f"u{part}")
        shifts = [
            whole_type.type(8 * part * i)
            for i, whole_type in enumerate([np.dtype(f"u{ptx.TYPE_BYTES[type_]}")] * len(destination.items))
        ]
        instruction.writes = tuple(t.slot(item) for item in destination.items)
        instruction.evaluate = lambda registers: tuple((whole(registers) >> shift).astype(narrow) for shift in shifts)
        if len(instruction.writes) == 1:
            raise ValueError("a vector of one")
        return
    instruction.writes = (t.slot(destination),)
    if isinstance(source, Vector):
        part = ptx.TYPE_BYTES[type_] // len(source.items)
        wide = np.dtype(f"u{ptx.TYPE_BYTES[type_]}")
        parts = [t.read(item, f"u{8 * part}") for item in source.items]

        def pack(registers):
            value = parts[0](registers).astype(wide)
            for position, item in enumerate(parts[1:], 1):
                value = value | (item(registers).astype(wide) << wide.type(8 * part * position))
            return value

        instruction.evaluate = pack
    elif isinstance(source, Symbol) and source.name in t.globals_:
        instruction.evaluate = t._global_address(source.name)
    else:
        instruction.evaluate = t.read(source, type_)


EFFECTS: dict[str, Callable[[Translator, Instruction, Statement], None]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _active_mask,
    "redux": _reduce_warp,
    "mov": _move,
}


# ---- arithmetic: each function returns (destinations, evaluate, dtype of the results)


def _arithmetic(t: Translator, opcode: tuple[str, ...], operands: tuple):
    name, type_ = opcode[0], opcode[-1]
    special = SPECIAL_FORMS.get(name)
    if special is not None:
        return special(t, opcode, operands)
    sources = operands[1:]
    if type_ == "pred":
        return (operands[0],), _apply(PREDICATE[name], [t.read(s, "pred") for s in sources]), DTYPES["pred"]
    if type_[0] in "usb" and type_ not in ("bf16", "bf16x2"):
        key = f"{name}.{opcode[1]}" if name in ("mul", "mad") else name
        if key == "mad.wide":
            wide = f"{type_[0]}{2 * int(type_[1:])}"
            a, b, c = t.read(sources[0], type_), t.read(sources[1], type_), t.read(sources[2], wide)
            return (operands[0],), (lambda r: integer.multiply_wide(a(r), b(r)) + c(r)), DTYPES[wide]
        if name in ("and", "or", "xor", "not"):
            type_ = f"s{type_[1:]}"
        if len(opcode) > key.count(".") + 2:
            raise KeyError(opcode)  # a modifier such as .sat
        function = INTEGER[key]
        result = DTYPES["u32"] if name in ("popc", "clz") else DTYPES[type_]
        if key == "mul.wide":
            result = DTYPES[f"{type_[0]}{2 * int(type_[1:])}"]
        return (operands[0],), _apply(function, [t.read(s, type_) for s in sources]), result
    readers = [t.read(s, type_) for s in sources]
    if type_ == "f32" and "ftz" in opcode:
        return (operands[0],), _flushing(opcode, readers), DTYPES[type_]
    if type_ == "f32" and name not in ("neg", "abs", "min", "max", "copysign"):
        t.subnormal = True
    return (operands[0],), _apply(operation(opcode[0], opcode[1:-1], opcode[-1]), readers), DTYPES[type_]


def _flushing(opcode: tuple[str, ...], readers: list[Callable]) -> Callable[[Registers], np.ndarray]:
    """A `.ftz` instruction: its operands are looked at only if a subnormal number was seen since the launch."""
    careful = operation(opcode[0], opcode[1:-1], opcode[-1])
    quick = operation(opcode[0], [part for part in opcode[1:-1] if part != "ftz"], opcode[-1])

    def evaluate(registers):
        values = [reader(registers) for reader in readers]
        return careful(*values) if registers.subnormal else float32.flush(quick(*values))

    return evaluate


def _apply(function: Callable, readers: list[Callable]) -> Callable[[Registers], np.ndarray]:
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


def _shift(t, opcode, operands):
    type_ = opcode[-1]
    function = integer.shift_left if opcode[0] == "shl" else integer.shift_right
    amount = operands[2]
    if isinstance(amount, Immediate):
        bits = 8 * ptx.TYPE_BYTES[type_]
        dtype = DTYPES[type_]
        by = dtype.type(min(amount.value, bits if opcode[0] == "shl" or dtype.kind == "u" else bits - 1))
        a = t.read(operands[1], type_)
        if opcode[0] == "shl":
            return (operands[0],), (lambda registers: a(registers) << by), dtype
        return (operands[0],), (lambda registers: a(registers) >> by), dtype
    return (operands[0],), _apply(function, [t.read(operands[1], type_), t.read(amount, "u32")]), DTYPES[type_]


def _funnel_shift(t, opcode, operands):
    function = integer.funnel_left if opcode[1] == "l" else integer.funnel_right
    wrap = opcode[2] == "wrap"
    low, high, amount = (t.read(operand, "u32") for operand in operands[1:4])
    return (operands[0],), (lambda r: function(low(r), high(r), amount(r), wrap)), DTYPES["u32"]


def _extract(t, opcode, operands):
    type_ = opcode[-1]
    readers = [t.read(operands[1], type_), t.read(operands[2], "u32"), t.read(operands[3], "u32")]
    return (operands[0],), _apply(integer.extract_bits, readers), DTYPES[type_]


def _insert(t, opcode, operands):
    type_ = opcode[-1].replace("b", "u")
    readers = [*(t.read(o, type_) for o in operands[1:3]), *(t.read(o, "u32") for o in operands[3:5])]
    return (operands[0],), _apply(integer.insert_bits, readers), DTYPES[type_]


def _find(t, opcode, operands):
    a, amount = t.read(operands[1], opcode[-1]), "shiftamt" in opcode
    return (operands[0],), (lambda registers: integer.find_leading(a(registers), amount)), DTYPES["u32"]


def _permute(t, opcode, operands):
    if len(opcode) > 2:
        raise ValueError("prmt modes")
    return (operands[0],), _apply(integer.permute_bytes, [t.read(o, "u32") for o in operands[1:4]]), DTYPES["u32"]


def _lop3(t, opcode, operands):
    a, b, c = (t.read(o, "s32") for o in operands[1:4])
    table = operands[4].value
    return (operands[0],), (lambda r: integer.lop3(a(r), b(r), c(r), table)), DTYPES["s32"]


def _compare(t, opcode, operands):
    """setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, {!}c};"""
    type_ = opcode[-1]
    function = _comparison(opcode[1], type_)
    if opcode[1] in ("lo", "ls", "hi", "hs"):
        type_ = "u" + type_[1:]
    a, b = t.read(operands[1], type_), t.read(operands[2], type_)
    if type_[0] == "f" and "ftz" in opcode:
        a, b = _flushed(a), _flushed(b)
    destination = _items(operands[0])
    if len(operands) > 3:
        combine, c = COMBINE[opcode[2]], t.read(operands[3], "pred")
        if len(destination) == 1:
            return destination, (lambda r: combine(function(a(r), b(r)), c(r))), DTYPES["pred"]

        def both(r):
            true, other = function(a(r), b(r)), c(r)
            return combine(true, other), combine(np.logical_not(true), other)

        return destination, both, DTYPES["pred"]
    if len(destination) == 1:
        return destination, (lambda r: function(a(r), b(r))), DTYPES["pred"]

    def pair(r):
        true = function(a(r), b(r))
        return true, np.logical_not(true)

    return destination, pair, DTYPES["pred"]


def _comparison(name: str, type_: str) -> Callable:
    """The function of a comparison; an ordered one is false if an operand is NaN, so that `ne` is not `!=`."""
    if type_ in ("f16x2", "bf16", "bf16x2"):
        raise KeyError(type_)
    if name == "ne" and type_[0] == "f":
        return lambda a, b: (a < b) | (a > b)
    return COMPARE[name]


def _flushed(reader):
    return lambda registers: float32.flush(reader(registers))


def _set(t, opcode, operands):
    """set.cmp.dtype.stype: all ones (or 1.0) for true."""
    if len(opcode) != 4:
        raise KeyError(opcode)
    a, b = t.read(operands[1], opcode[-1]), t.read(operands[2], opcode[-1])
    function, result = _comparison(opcode[1], opcode[-1]), DTYPES[opcode[-2]]
    yes = result.type(1.0) if result.kind == "f" else np.array(-1).astype(result)[()]
    return (operands[0],), (lambda r: np.where(function(a(r), b(r)), yes, result.type(0))), result


def _select(t, opcode, operands):
    type_ = opcode[-1]
    a, b, p = t.read(operands[1], type_), t.read(operands[2], type_), t.read(operands[3], "pred")

    def evaluate(registers):
        choice = p(registers)
        if choice.ndim == 0:
            return a(registers) if choice else b(registers)
        return np.where(choice, a(registers), b(registers))

    return (operands[0],), evaluate, DTYPES[type_]


def _select_sign(t, opcode, operands):
    type_, condition = opcode[1], opcode[-1]
    a, b, c = t.read(operands[1], type_), t.read(operands[2], type_), t.read(operands[3], condition)
    return (operands[0],), (lambda r: np.where(c(r) >= 0, a(r), b(r))), DTYPES[type_]


def _convert(t, opcode, operands):
    """cvt{.rounding}{.ftz}{.sat}.to.from d, a;"""
    to, origin = opcode[-2], opcode[-1]
    if to in ("bf16x2", "f16x2"):
        high, low = t.read(operands[1], origin), t.read(operands[2], origin)
        narrow = conversion(to.removesuffix("x2"), origin, opcode[1:-2])

        def pack(registers):
            bits = [narrow(half(registers)).view(np.uint16).astype(np.uint32) for half in (low, high)]
            return bits[0] | (bits[1] << np.uint32(16))

        return (operands[0],), pack, DTYPES["u32"]
    a = t.read(operands[1], origin)
    if to[0] in "us" and origin[0] in "us":
        result, saturate = DTYPES[to], "sat" in opcode
        return (operands[0],), (lambda registers: integer.convert(a(registers), result, saturate)), result
    function = conversion(to, origin, opcode[1:-2])
    t.subnormal |= to == "f32" and origin == "f64" and "ftz" not in opcode
    return (operands[0],), (lambda registers: function(a(registers))), DTYPES[to]


def _convert_address(t, opcode, operands):
    """cvta{.to}.space: between a state space's own addresses and generic ones."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(_space(opcode), 0)
    window = np.int64(-window if "to" in opcode else window)
    source = operands[1]
    if isinstance(source, Symbol) and source.name in t.globals_:
        a = t._global_address(source.name)
    else:
        a = t.read(source, "s64")
    if window == 0:
        return (operands[0],), a, DTYPES["s64"]
    return (operands[0],), (lambda registers: a(registers) + window), DTYPES["s64"]


def _is_space(t, opcode, operands):
    a = t.read(operands[1], "s64")
    start, stop = {
        "global": (0, SHARED_WINDOW),
        "shared": (SHARED_WINDOW, LOCAL_WINDOW),
        "local": (LOCAL_WINDOW, 1 << 62),
    }[opcode[1]]
    return (operands[0],), (lambda r: (a(r) >= start) & (a(r) < stop)), DTYPES["pred"]


def _dot4(t, opcode, operands):
    """dp4a: the dot product of four signed or unsigned bytes, added to c."""
    kinds = [np.dtype(f"{'i' if type_ == 's32' else 'u'}1") for type_ in opcode[-2:]]
    a, b, c = (t.read(o, "u32") for o in operands[1:4])

    def evaluate(registers):
        total = c(registers).astype(np.int64)
        for shift in (0, 8, 16, 24):
            left = (a(registers) >> np.uint32(shift)).astype(np.uint8).view(kinds[0]).astype(np.int64)
            right = (b(registers) >> np.uint32(shift)).astype(np.uint8).view(kinds[1]).astype(np.int64)
            total = total + left * right
        return total.astype(np.uint32)

    return (operands[0],), evaluate, DTYPES["u32"]


def _test_float(t, opcode, operands):
    """testp.kind: a class of floating-point numbers."""
    a = t.read(operands[1], opcode[-1])
    tiny = np.finfo(DTYPES[opcode[-1]]).tiny
    function = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= tiny) | (x == 0)),
        "subnormal": lambda x: (np.abs(x) < tiny) & (x != 0),
    }[opcode[1]]
    return (operands[0],), (lambda registers: function(a(registers))), DTYPES["pred"]


SPECIAL_FORMS: dict[str, Callable] = {
    "shl": _shift,
    "shr": _shift,
    "shf": _funnel_shift,
    "bfe": _extract,
    "bfi": _insert,
    "bfind": _find,
    "prmt": _permute,
    "lop3": _lop3,
    "setp": _compare,
    "set": _set,
    "selp": _select,
    "slct": _select_sign,
    "cvt": _convert,
    "cvta": _convert_address,
    "isspacep": _is_space,
    "dp4a": _dot4,
    "testp": _test_float,
}
