"""The level at which a kernel is executed: its machine code, as the hardware runs it, or the PTX that it was made from.

"auto", the default everywhere, is the machine code ("sass"), and "ptx" where the machine code cannot be printed
(nvdisasm is missing or refuses it) or has an instruction that is not modelled. This is decided here and nowhere else.
"""

from collections import OrderedDict
from functools import cached_property
from threading import Lock

from gpusim.checks import undefined_values, warp_masks
from gpusim.compiler import CompiledKernel, DisassemblyError, ptx
from gpusim.engine.ir import Program
from gpusim.engine.run import Prepared
from gpusim.errors import SimulatorError, UnsupportedInstruction
from gpusim.symbols import constant_arrays, local_accesses, pointers
from gpusim.symbols.constant_arrays import ConstantArrays
from gpusim.symbols.local_arrays import NO_ARRAYS, LocalArrays
from gpusim.symbols.memory_order import Strength
from gpusim.symbols.pointers import Pointers
from gpusim.symbols.shared_arrays import SharedNames

AUTO = "auto"
LEVELS = (AUTO, "sass", "ptx")
NOT_EXECUTABLE = (UnsupportedInstruction, DisassemblyError)
MOST_INSTRUCTIONS = 40_000  # of all prepared kernels; one takes 2.5 KB at each level, and 1.5 more once it was checked


def checked(level: str) -> str:
    """`level`, if it is one; SimulatorError with a sentence otherwise."""
    if not isinstance(level, str) or level not in LEVELS:
        raise SimulatorError(f"level={level!r}: choose 'auto', 'sass' or 'ptx'.")
    return level


class Forms:
    """A compiled kernel ready to run, at each level from the first time that it is asked for."""

    def __init__(self, compiled: CompiledKernel) -> None:
        self.compiled = compiled
        self.instructions = 0  # of the levels that are prepared
        self._shared_names: dict[str, SharedNames] = {}
        self._named_lanes: dict[str, dict[int, int]] = {}
        self._local_arrays: dict[str, LocalArrays] = {}

    @cached_property
    def pointers(self) -> Pointers:
        """Which arrays its instructions may touch."""
        return pointers.find(self.compiled)

    def shared_names(self, level: str) -> SharedNames:
        """The names and limits of its shared memory as its program of a level, "sass" or "ptx", accesses it."""
        if level not in self._shared_names:
            program = self.at(level)[0].program
            used = self.pointers.used_by(program)
            if level == "sass" and (undecided := self.pointers.undecided(program)):
                from gpusim.symbols import (
                    match_by_address,  # few kernels need it, and it loads PTX's rules
                )

                used = used | match_by_address.arrays_of(self.compiled, program, undecided)
            code, unproven = self.compiled, used if level == "sass" else ()
            self._shared_names[level] = SharedNames(
                self.pointers.shared_arrays,
                used,
                code.source,
                code.entry,
                self._strengths(program),
                unproven,
                self.pointers.updated_beside_halves,
            )
        return self._shared_names[level]

    def prove(self, instruction: int) -> None:
        """An access of the machine code belongs to the array of its place in the source."""
        self.shared_names("sass").unproven.discard(instruction)

    def refute(self, instruction: int) -> None:
        """An access of the machine code does not belong to the array of its place in the source.

        Then the other accesses of that place belong to it only as far as they have the addresses of the PTX's.
        """
        from gpusim.symbols import match_by_address

        names, prepared = self.shared_names("sass"), self.sass
        alike = self.pointers.alike(prepared.program, instruction)
        by_address = match_by_address.arrays_of(self.compiled, prepared.program, alike)
        for other in {*alike, instruction} & names.unproven:
            names.attribute(other, None if other == instruction else by_address.get(other))
        if prepared.machine is not None:
            prepared.machine.forget_limits()

    def has_address_of_its_array(self, instruction: int) -> bool:
        """Whether an access of the machine code has the addresses of accesses of the PTX, all to the array of its
        place in the source."""
        from gpusim.symbols import match_by_address

        alike = self.pointers.alike(self.sass.program, instruction)
        arrays = match_by_address.arrays_of(self.compiled, self.sass.program, alike).get(instruction)
        return arrays is not None and arrays == self.shared_names("sass").used.get(instruction)

    def _strengths(self, program: Program) -> dict[int, Strength]:
        """Those of the loads and stores of shared memory, where the opcode does not tell: the strongest that they may
        be, to avoid false positives."""
        if program.level == "ptx":
            return self.pointers.strengths
        candidates = self.pointers.may_be_of_strength(program)
        undecided = {index: each for index, each in candidates.items() if len(set(each.values())) > 1}
        strengths = {index: max(each.values()) for index, each in candidates.items() if each}
        if undecided:
            from gpusim.symbols import match_by_address

            strengths |= match_by_address.arrays_of(self.compiled, program, undecided)
        return strengths

    def named_lanes(self, level: str) -> dict[int, int]:
        """`Pointers.named_lanes` of its program of a level, "sass" or "ptx"."""
        if level not in self._named_lanes:
            self._named_lanes[level] = self.pointers.named_lanes(self.at(level)[0].program)
        return self._named_lanes[level]

    @cached_property
    def has_computed_masks(self) -> bool:
        """Whether functions of the warp are called with masks that only the PTX shows: see `warp_masks`."""
        if self.pointers.has_lines_of_masks:
            return True
        function = ptx.parse(self.compiled.ptx).functions.get(self.compiled.lowered_name)
        return function is not None and warp_masks.has_computed_masks(function)

    @cached_property
    def never_set(self) -> tuple[frozenset[int], frozenset[int]]:
        """Of its PTX the registers that may be read before they are set, and the instructions with constants for what
        is computed from such ones: see `undefined_values`. Both are empty where it cannot be executed."""
        function = ptx.parse(self.compiled.ptx).functions.get(self.compiled.lowered_name)
        texts = "\n".join((self.compiled.source, *(text for _, text in self.compiled.headers)))
        folded = undefined_values.has_folded(self.compiled.ptx, texts)
        if function is None or self.compiled.debug:
            return frozenset(), frozenset()
        names = undefined_values.never_set(function)
        if not names and not folded:
            return frozenset(), frozenset()
        try:
            program = self.ptx.program
        except UnsupportedInstruction:
            return frozenset(), frozenset()
        constants = (
            instruction.index
            for instruction in program.instructions
            if folded and any(constant in instruction.text for constant in undefined_values.FOLDED)
        )
        return frozenset(program.registers[name] for name in names if name in program.registers), frozenset(constants)

    def local_arrays(self, level: str) -> LocalArrays:
        """The arrays of each thread's own as its program of a level, "sass" or "ptx", accesses them."""
        if level not in self._local_arrays:
            arrays, program = NO_ARRAYS, self.at(level)[0].program
            if program.local_bytes and (source := local_accesses.declared(self.compiled)):
                at_ptx = level == "ptx"
                arrays = source.known if at_ptx else local_accesses.in_machine_code(self.compiled, program, source)
            self._local_arrays[level] = arrays
        return self._local_arrays[level]

    @cached_property
    def constant_arrays(self) -> ConstantArrays:
        """The `__constant__` arrays that its machine code reads."""
        return constant_arrays.in_machine_code(self.compiled, self.sass.program)

    @cached_property
    def ptx(self) -> Prepared:
        """The compiler's PTX; UnsupportedInstruction if it cannot be executed."""
        from gpusim.isa.ptx import program as ptx_program  # few kernels need it, and it loads slowly

        return self._prepared(ptx_program.translate(self.compiled))

    @cached_property
    def sass(self) -> Prepared:
        """The machine code; UnsupportedInstruction or DisassemblyError if it cannot be executed or printed."""
        from gpusim.isa.sass import program as sass_program  # nvdisasm is needed only here

        return self._prepared(sass_program.translate(self.compiled))

    def _prepared(self, program: Program) -> Prepared:
        self.instructions += len(program.instructions)
        forms_of.keep_within(MOST_INSTRUCTIONS)
        return Prepared(program)

    @cached_property
    def doubt(self) -> str:
        """A sentence on machine code that no GPU has confirmed; "" for the others."""
        from gpusim.isa.sass import opcodes

        family = opcodes.family(self.compiled.arch)
        if family is None or family.seen:
            return ""
        return (
            f"{self.compiled.entry} was executed as machine code of {self.compiled.arch} ({family.name}). What its "
            "instructions do was read off the compiler's text; results and counters were not held against such a GPU."
        )

    @cached_property
    def auto(self) -> tuple[Prepared, str]:
        """What "auto" stands for, and a sentence that says why it is PTX, or else what is to be said of the code."""
        try:
            return self.sass, self.doubt
        except NOT_EXECUTABLE as error:
            unreadable = str(error)
        try:
            why = f"{self.compiled.entry} was executed at the level of PTX, not of its machine code. {unreadable}"
            return self.ptx, why
        except UnsupportedInstruction as unknown:
            reasons = "\n".join(dict.fromkeys((unreadable, str(unknown))))  # one, where both levels say the same
            raise UnsupportedInstruction(
                f"{self.compiled.entry} can be executed neither as machine code nor as PTX.\n{reasons}\n"
                "On a machine with a GPU the same cell runs this kernel."
            ) from unknown

    def at(self, level: str) -> tuple[Prepared, str]:
        """The kernel at one of LEVELS, and why PTX was taken in place of the machine code; or `doubt` where it was not.

        Raises UnsupportedInstruction or DisassemblyError, which name a level that does execute the kernel if one does.
        """
        if level == AUTO:
            return self.auto
        try:
            return getattr(self, level), self.doubt if level == "sass" else ""
        except NOT_EXECUTABLE as error:
            what, other = ("its machine code", "sass") if level == "ptx" else ("its PTX", "ptx")
            try:
                getattr(self, other)
            except NOT_EXECUTABLE:
                raise error from None
            raise type(error)(
                f'{error} The simulator can execute {what}: leave out level="{level}", or choose level="{other}".'
            ) from None


class PreparedKernels:
    """The forms of the kernels that ran last, as many as have MOST_INSTRUCTIONS together, and always the very last.

    A notebook, an exercise's judge and a module hold hundreds of kernels, whose forms would be gigabytes: a kernel asks
    here for its own whenever it runs.
    """

    def __init__(self) -> None:
        self._forms: OrderedDict[CompiledKernel, Forms] = OrderedDict()
        self._lock = Lock()  # a cell and an explorer's thread may launch at once

    def __call__(self, compiled: CompiledKernel) -> Forms:
        """The forms of a kernel: those that are kept, or new ones."""
        with self._lock:
            forms = self._forms.get(compiled)
            if forms is None:
                forms = self._forms[compiled] = Forms(compiled)
            else:
                self._forms.move_to_end(compiled)
            return forms

    def keep_within(self, instructions: int) -> None:
        """Drop the forms that were asked for longest ago until so many instructions remain, but never the last."""
        with self._lock:
            total = sum(forms.instructions for forms in self._forms.values())
            while total > instructions and len(self._forms) > 1:
                _, dropped = self._forms.popitem(last=False)
                total -= dropped.instructions

    def clear(self) -> None:
        """Drop all."""
        with self._lock:
            self._forms.clear()


forms_of = PreparedKernels()
