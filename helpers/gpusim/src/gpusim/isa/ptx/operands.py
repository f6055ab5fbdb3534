"""Operands of PTX: which register slot, constant or address each one is.

- A register has a fixed width; an instruction's type says how its bits are read.
- A source register may be wider than the type of ld, st and cvt: the low bits count.
- A result narrower than its register is extended by its own sign.

Reference: PTX ISA, chapters 'Instruction Operands' and 'Operand Size Exceeding Instruction-Type Size'.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from gpusim.compiler import CompiledKernel, cubin, ptx
from gpusim.compiler.ptx import Immediate, Not, Register, Vector
from gpusim.errors import Unknown
from gpusim.isa.ptx.layout import local_layout, shared_layout
from gpusim.isa.ptx.linking import Linked

DTYPES = {
    "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8), "b8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16), "s16": np.dtype(np.int16), "b16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32), "b32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64), "s64": np.dtype(np.int64), "b64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool),
    "f16x2": np.dtype(np.uint32), "bf16x2": np.dtype(np.uint32), "bf16": np.dtype(np.uint16),
    "f32x2": np.dtype(np.uint64), "u16x2": np.dtype(np.uint32), "s16x2": np.dtype(np.uint32),
}  # fmt: skip
PREDICATE = DTYPES["pred"]
# A register's own dtype: loads and address arithmetic are cheapest on these.
STORAGE = {"pred": PREDICATE, "f32": DTYPES["f32"], "f64": DTYPES["f64"]}
STORAGE_BY_BYTES = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
FUNCTION_BYTES = 16  # between the addresses of functions that the machine code has none for
CARRY = "the carry"  # the slot of CC.CF, which add.cc writes and addc reads


def dtype_of(type_: str) -> np.dtype:
    """The NumPy dtype of a PTX type; Unknown if values of the type are not modelled."""
    if type_ not in DTYPES:
        raise Unknown(f"the type .{type_}")
    return DTYPES[type_]


def _addresses(kernel: CompiledKernel, module: ptx.Module, functions: Iterable[str]) -> dict[str, int]:
    """The addresses of functions, the same for all kernels of a module, which may call what another one has stored.

    Of what stands in a table they are those of the machine code, so that the table holds the same at both levels: a
    place in the code or, where several kernels have a copy of the function, its number.
    """
    in_tables = [(v, pointer) for v in module.variables for pointer in v.pointers if pointer.name in module.called]
    if not functions and not in_tables:
        return {}
    image = cubin.read(kernel.cubin)
    symbols = {symbol.name: symbol for symbol in image.symbols}
    placed: dict[str, int] = {}
    for variable, pointer in in_tables:
        symbol = symbols.get(variable.name)
        if symbol is not None and pointer.bytes_ == 8:
            data = image.data(symbol.section)[symbol.offset + pointer.offset :][: pointer.bytes_]
            placed[pointer.name] = int.from_bytes(data, "little") - pointer.addend
    beyond = 1 << 32
    numbers = {name: beyond + FUNCTION_BYTES * number for number, name in enumerate(module.called)}
    names = dict.fromkeys((*functions, *(pointer.name for _, pointer in in_tables)))
    return {name: placed.get(name) or numbers[name] for name in names}


def _with_addresses(variable: ptx.Variable, functions: Mapping[str, int]) -> ptx.Variable:
    """A variable with the addresses of functions in its contents; those of other variables remain to be put in."""
    if not variable.pointers:
        return variable
    data = bytearray(variable.data)
    for pointer in variable.pointers:
        if pointer.name in functions:
            pointer.put(data, functions[pointer.name])
    others = tuple(pointer for pointer in variable.pointers if pointer.name not in functions)
    return replace(variable, data=bytes(data), pointers=others)


def items_of(operand) -> tuple:
    """The parts of a vector, or the operand alone."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def undeclared(name: str) -> str:
    """What a name is that the kernel does not declare."""
    return f"the special register {name}" if name.startswith("%") else f"the operand {name}"


class Rows(dict):
    """By slot the rows of a register while each has its own: two for each. Predicates have none."""

    def __init__(self, types: Sequence[str]) -> None:
        super().__init__()
        self._types = types

    def __missing__(self, slot: int) -> tuple[int, ...]:
        type_ = self._types[slot]
        if type_ == "pred":
            raise KeyError(slot)
        rows = self[slot] = (2 * slot, 2 * slot + 1) if ptx.TYPE_BYTES[type_] == 8 else (2 * slot,)
        return rows


class Operands:
    """The registers, variables and parameters of one kernel, and how an operand becomes a function of the registers.

    `initial` and `types` hold by slot the first value and PTX's type; `at` is the place of the current instruction in
    the text, and `read_now` collects the slots that it reads.
    """

    own_rank = None  # addresses of the own block's shared memory hold none

    def __init__(self, kernel: CompiledKernel, module: ptx.Module, text: Linked) -> None:
        self.text = text
        self.function = function = text.function
        self.at = 0
        self.arch = kernel.arch
        self.cluster = kernel.cluster
        self.slots: dict[str, int] = {}
        self.types: list[str] = []
        self.initial: list[np.generic] = []
        for name, type_ in function.registers.items():
            storage = STORAGE.get(type_) or STORAGE_BY_BYTES.get(ptx.TYPE_BYTES.get(type_, 0))
            if storage is not None:
                self._new_slot(name, type_, storage.type(0))
        self.rows = Rows(self.types)
        self.parts: dict = {}  # of `computations`, by row and count
        self.read_now: set[int] = set()
        own = module.functions[kernel.lowered_name]
        self.shared_offsets, self.shared_bytes = shared_layout(module, own, text.starts, kernel.debug)
        self.local_offsets, own_bytes = local_layout(module, own)
        # What a function is given is there before the call, and so before it is seen that the stack is too small.
        self.local_bytes = text.stack_bytes + max(text.frames.values()) if text.calls else own_bytes
        self.function_addresses = _addresses(kernel, module, text.pointed_at)
        self.global_variables = {
            v.name: _with_addresses(v, self.function_addresses)
            for v in module.variables
            if v.space in ("global", "const")
        }
        self.has_constants_of_the_grid = "__grid_constant__" in kernel.source  # whose addresses may be taken
        self.parameters = {
            name: where for (name, _, _), where in zip(function.parameters, kernel.parameters, strict=True)
        }

    def _new_slot(self, name: str, type_: str, initial: np.generic) -> int:
        self.slots[name] = len(self.types)
        self.types.append(type_)
        self.initial.append(initial)
        return self.slots[name]

    @cached_property
    def addresses_of_launch(self) -> tuple[int, int]:
        """The slots of the addresses of the parameters and of a cooperative grid's barrier."""
        names = "where parameters lie", "the grid's barrier"
        return tuple(self._new_slot(name, "b64", np.int64(0)) for name in names)

    # ---- registers

    def _slot(self, name: str) -> int:
        if name in self.slots:
            return self.slots[name]
        if type_ := self.function.registers.get(name):
            raise Unknown(f"registers of the type .{type_}")
        raise Unknown(undeclared(name))

    def target(self, operand) -> int | None:
        """The slot of a destination; None for `_`."""
        if not isinstance(operand, Register):
            raise Unknown(f"the destination {operand}")
        return None if operand.name == "_" else self._slot(operand.name)

    def is_predicate(self, operand) -> bool:
        """Whether an operand is a predicate or its negation."""
        if isinstance(operand, Not):
            return True
        return isinstance(operand, Register) and self.types[self._slot(operand.name)] == "pred"

    def hidden(self, name: str, initial: np.generic = np.False_) -> int:
        """The slot of a register that PTX does not name, by our own name of it."""
        type_ = "pred" if initial.dtype == PREDICATE else "b32"
        return self.slots[name] if name in self.slots else self._new_slot(name, type_, initial)

    def carry(self) -> int:
        """The slot of the carry, CC.CF."""
        return self.hidden(CARRY)

    def guard(self, guard: Register | Not | None) -> tuple[int, bool] | None:
        """(slot of the predicate, whether it is negated) of `@p` and `@!p`."""
        if guard is None:
            return None
        negated = isinstance(guard, Not)
        return self._slot(guard.register.name if negated else guard.name), negated

    # ---- values

    def constant_bits(self, operand: Immediate, dtype: np.dtype) -> int:
        """The bits of a constant read as `dtype`."""
        value = self._constant(operand, dtype)
        return int(value.view(f"u{dtype.itemsize}")) if dtype.kind != "b" else int(value)

    def _constant(self, operand: Immediate, dtype: np.dtype):
        if dtype.kind == "b":
            return np.bool_(operand.value)
        if dtype.kind == "f" and isinstance(operand.value, float):
            return np.array(operand.bits, f"u{dtype.itemsize}").view(dtype)[()]
        bits = operand.bits & ((1 << 8 * dtype.itemsize) - 1)
        return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]

    def constant(self, operand) -> int:
        """The value of an operand that must be a constant."""
        if not isinstance(operand, Immediate) or not isinstance(operand.value, int):
            raise Unknown(f"{operand} where a constant is expected")
        return operand.value

    # ---- addresses

    def symbol_address(self, name: str) -> int:
        """The address of a shared or local variable in its own space, or of a function."""
        for offsets in (self.shared_offsets, self.local_offsets, self.function_addresses):
            if name in offsets:
                return offsets[name]
        raise Unknown(f"the address of {name}")

    def address_slot(self, name: str) -> int:
        """The slot of the address of a module's variable, which is known only at the launch."""
        self._check_contents(name)
        key = f"&{name}"
        return self.slots[key] if key in self.slots else self._new_slot(key, "b64", np.int64(0))

    def _check_contents(self, name: str) -> None:
        """Unknown if the initial value of a variable, or of one whose address it holds, is not understood."""
        for variable in ptx.reached_from([name], self.global_variables):
            if variable.unread:
                raise Unknown(f"{variable.name}, a variable whose initial value has `{variable.unread}`")
            for pointer in variable.pointers:
                if pointer.name not in self.global_variables:
                    raise Unknown(f"{variable.name}, a variable that holds the address of {pointer.name}")
