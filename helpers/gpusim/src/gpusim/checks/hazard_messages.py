"""The sanitizer's sentences: what happened, where, and what to try."""

import re
from collections.abc import Mapping, Sequence

from gpusim.checks.cluster_checks import ClusterHazard
from gpusim.checks.global_checks import GlobalHazard, GlobalSide
from gpusim.checks.shared_epoch import Hazard, Side
from gpusim.checks.undefined_values import Absence, Use
from gpusim.devices import WARP, unravel
from gpusim.engine.ir import Program
from gpusim.engine.memory import lane_name, product
from gpusim.errors import BY_ALL_THREADS, coordinates
from gpusim.symbols.memory_order import Strength

CLOSE = 8  # instructions between the load and the store of a statement such as `x[i] += 1`
OF_FLAGS = (
    " Where one waits for a flag that the other raises, __threadfence_block() must come before the flag is raised, and "
    "behind the wait."
)
NO_VALUE = (  # an index beyond an array of the thread's own compiles to an undefined value, too
    "Give each variable its first value where it is declared (float sum = 0; float sums[4] = {};), and read no element "
    "that its array does not have."
)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# A declaration without first values, `float a, b[4];`
DECLARED = re.compile(
    r"(?:^|[;{}(])\s*(?P<type>(?:\w+::)*\w+(?:<[^;]*?>)?)\s+(?P<names>\w+\s*(?:\[[^\]]*\]\s*)*(?:,\s*\w+\s*(?:\[[^\]]*\]\s*)*)*);"
)
# What reads the variables in its brackets, or adds to them
NO_CALLS = (
    r"(?:if|while|for|switch|return|sizeof|mma_sync|store_matrix_sync|fmaf?|f?max[fl]?|f?min[fl]?|float|int)\s*\("
)
NO_TYPES = ("return", "else", "goto", "typename", "using", "namespace", "class", "struct")
Index = tuple[int, int, int]


def _verb(what: str) -> str:
    """What an access does to the place that follows in the sentence."""
    return {"updates": "updates (atomically)", "copies": "copies into"}.get(what, what)


class Messages:
    """Words for the hazards of one launch, of `program` on `grid` and `block`; `strengths` by instruction."""

    def __init__(self, program: Program, grid: Index, block: Index, strengths: Mapping[int, Strength]) -> None:
        self._program = program
        self._volatile = {index for index, strength in strengths.items() if strength is not Strength.STRONG}
        flags = (Strength.VOLATILE, Strength.STRONG)
        self._has_flags = any(instruction.strong for instruction in program.instructions) or any(
            strength in flags for strength in strengths.values()
        )
        self._grid = grid
        self._block = block

    # ---- where
    def lines(self, instruction: int) -> tuple[int, ...]:
        """The source line of an instruction and the lines that its function was called from."""
        reported = self._program.instructions[instruction]
        return (reported.line, *reported.called_from)

    def _quote(self, instruction: int, *notes: str) -> str:
        """The source line with what a thread does there; below it the lines that it was called from."""
        lines = self._program.source_lines
        texts = []
        for position, line in enumerate(self.lines(instruction)):
            if 1 <= line <= len(lines):
                start = "  called from line" if position else "line"
                texts.append(f"  {start} {line}: {lines[line - 1].strip()}\n")
        return "".join([*texts[:1], *(f"    {note}\n" for note in notes), *texts[1:]])

    def _quote_both(self, first: int, second: int, first_note: str, other: str) -> str:
        """Two source lines with what happens there; one line if they are the same."""
        if self.lines(first) == self.lines(second):
            return self._quote(first, first_note, other)
        return self._quote(first, first_note) + self._quote(second, other)

    def block_index(self, number: int) -> Index:
        """(x, y, z) of a linear block number."""
        return unravel(number, self._grid)

    def thread_index(self, number: int) -> Index:
        """(x, y, z) of a linear thread number."""
        return unravel(number, self._block)

    # ---- shared memory
    def _does(self, side: Side, element: str) -> str:
        """What one access of a hazard does."""
        return f"thread {coordinates(self.thread_index(side.thread))} {_verb(side.what)} {element}"

    def _quote_sides(self, hazard: Hazard, element: str) -> str:
        """The lines of both accesses of a hazard, with what each does."""
        first, second = hazard.first, hazard.second
        sides = (self._does(first, element), self._does(second, element))
        return self._quote_both(first.instruction, second.instruction, *sides)

    def shared_race(self, hazard: Hazard, element: str, block: Index) -> str:
        """Two threads of a block access `element` in no order."""
        first, second = hazard.first, hazard.second
        follows = self._may_follow(first.instruction, second.instruction)
        turned = self.lines(second.instruction)[-1] < self.lines(first.instruction)[-1]
        if turned and not (follows and self._comes_again(second.instruction, first.instruction)):
            # Threads in different branches, or a load that the compiler moved ahead: in the order of the source.
            first, second = second, first
        line, two = self.lines(first.instruction)[-1], self.lines(second.instruction)[-1]
        where = f"line {line}" if line == two else f"lines {line} and {two}"
        text = f"{self._program.name}: race in shared memory, {where}, in block {coordinates(block)}.\n"
        sides = (self._does(first, element), self._does(second, element))
        text += self._quote_both(first.instruction, second.instruction, *sides)
        both_write = first.what != "reads" and second.what != "reads"
        same_warp = first.thread // WARP == second.thread // WARP
        one_warp = product(self._block) <= WARP
        barrier = "__syncwarp()" if one_warp else "__syncthreads()"
        enough = flags = OF_FLAGS if self._has_flags and not same_warp else ""
        if same_warp and not one_warp:
            barrier = "a barrier"
            enough = " __syncwarp() is enough if it is always lanes of one warp that meet here, else __syncthreads()."
        if both_write and first.instruction == second.instruction:
            return text + (
                "Both write different values in one statement, and which of them stays is not defined. "
                "Let one thread write, or combine the values with an atomic function such as atomicAdd; between "
                f"rounds of a loop put {barrier}.{flags}"
            )
        if first.what == "copies" and second.what != "copies":
            return text + (
                "Other threads see what a thread has copied only after it has waited for the copy and a barrier "
                "follows."
            )
        if self._program.orders_some_warps and not same_warp and line != two:
            return text + "No barrier orders the two warps here, so that on a GPU either may come first."
        # Between warps __syncwarp() may lie there, and in a warp one whose mask does not name both.
        none = "No barrier orders them" if same_warp else "No barrier of the block lies between them"
        order = f"{none}, so that on a GPU either may come first"
        if same_warp:
            volatile = not self._volatile.isdisjoint((first.instruction, second.instruction))
            order += " (the lanes of a warp need not run in step"
            order += ", and volatile does not make them)" if volatile else ")"
        text += order + ". "
        if line == two:
            if first.what == "reads" and 0 < second.instruction - first.instruction < CLOSE:
                return text + (
                    "If several threads update one element, use an atomic function such as atomicAdd; "
                    f"else put {barrier} between the read and the write.{enough}"
                )
            return text + f"Put {barrier} between the two accesses.{enough}"
        if line < two:
            outside = "" if follows else ", outside of any branch that only some threads take"
            return text + f"Put {barrier} between line {line} and line {two}{outside}.{enough}"
        return text + f"Put {barrier} after line {line}, before line {two} is reached again.{enough}"

    def _may_follow(self, first: int, second: int) -> bool:
        """Whether one thread may execute the instruction `second` after `first`."""
        blocks = self._program.blocks
        start, goal = (next(b for b in blocks if b.start <= i < b.stop) for i in (first, second))
        known: set[int] = set()
        following = list(start.successors)
        while following:
            block = following.pop()
            if block not in known:
                known.add(block)
                following += blocks[block].successors
        return goal.index in known or (start is goal and first < second)

    def _comes_again(self, instruction: int, after: int) -> bool:
        """Whether an access of the source is made before another one, too: in a loop, which may be unrolled."""
        line, opcode = self.lines(instruction), self._program.instructions[instruction].opcode
        same = (
            n
            for n, instruction in enumerate(self._program.instructions)
            if instruction.opcode == opcode and self.lines(n) == line
        )
        return any(self._may_follow(n, after) for n in same)

    def shared_unwritten(self, hazard: Hazard, element: str, block: Index) -> str:
        """`element` is read before it was written."""
        thread_name = lane_name(block, self.thread_index(hazard.second.thread))
        return (
            f"{self._program.name}: {thread_name} {hazard.second.what} {element}, which no thread has written.\n"
            + self._quote(hazard.second.instruction)
            + "Shared memory holds anything at first."
        )

    def copy_too_early(self, hazard: Hazard, element: str, block: Index) -> str:
        """`element` is used between the start of a copy and the wait for it."""
        advice = "Nothing has waited for the copy between the two."
        if hazard.first.what == hazard.second.what:
            advice = "Two copies into the same place are under way at once, and which of them stays is not defined."
        return (
            f"{self._program.name}: {element} is used while an asynchronous copy into it is under way, in block "
            f"{coordinates(block)}.\n" + self._quote_sides(hazard, element) + advice
        )

    def bulk_too_early(self, hazard: Hazard, element: str, block: Index) -> str:
        """`element` is used before the phase has ended that counts the bytes of a copy in bulk."""
        return (
            f"{self._program.name}: {element} is used by who has not waited for the copy in bulk into it, in block "
            f"{coordinates(block)}.\n"
            + self._quote_sides(hazard, element)
            + "The copy has come when the phase of its mbarrier has ended, for those who have waited for that: "
            "mbarrier.try_wait with the phase's parity, in each thread or before a __syncthreads(). The phase waits "
            "for the bytes only if they are expected: mbarrier.arrive.expect_tx with the sizes of all its copies. If "
            "an earlier copy into the same place was waited for, it is copied to again too early."
        )

    def bulk_over(self, hazard: Hazard, element: str, block: Index) -> str:
        """A copy in bulk and an access of another thread are in no order."""
        first, second = hazard.first, hazard.second
        into = first.what == "reads" or second.what == "copies over"
        return (
            f"{self._program.name}: race in shared memory, a copy in bulk does not wait for who uses {element}, in "
            f"block {coordinates(block)}.\n"
            + self._quote_sides(hazard, element)
            + (
                "Let those who use it arrive at an mbarrier when they have done so, and wait for it before the place "
                "is copied to again."
                if into
                else "Put fence.proxy.async and then __syncthreads() between what is written and the copy."
            )
        )

    def bulk_unread(self, hazard: Hazard, element: str, block: Index) -> str:
        """`element` is changed while a copy in bulk may still read it."""
        return (
            f"{self._program.name}: {element} is changed while a copy in bulk may still read it, in block "
            f"{coordinates(block)}.\n"
            + self._quote_sides(hazard, element)
            + "The thread that asked for the copy must wait first, and then meet the others: "
            "cp.async.bulk.commit_group, cp.async.bulk.wait_group.read 0, __syncthreads()."
        )

    def copy_left_over(self, hazard: Hazard, element: str, block: Index) -> str:
        """A copy into `element` is never waited for."""
        thread_name = lane_name(block, self.thread_index(hazard.second.thread))
        return (
            f"{self._program.name}: {thread_name} ends with an asynchronous copy under way that nothing has waited "
            "for.\n"
            + self._quote(hazard.second.instruction, self._does(hazard.second, element))
            + "It may land when this shared memory belongs to another block. Wait for all copies before the end: "
            "cp.async.wait_all."
        )

    # ---- shared memory of a cluster
    def cluster_race(
        self, hazard: ClusterHazard, element: str, earlier: tuple[Index, Index] | None, later: tuple[Index, Index]
    ) -> str:
        """Two blocks of a cluster, as (block, thread), access `element` in no order."""
        second, first = hazard.second, hazard.first
        lines = sorted({self.lines(side.instruction)[-1] for side in (first, second) if side is not None})
        where = f"line{'s' if len(lines) > 1 else ''} {' and '.join(map(str, lines))}"
        text = f"{self._program.name}: race in shared memory between blocks of a cluster, {where}.\n"
        here = f"{lane_name(*later)} {_verb(second.what)} {element}"
        if first is None or earlier is None:
            text += self._quote(second.instruction, here, "another block of the cluster uses it, too")
        else:
            there = f"{lane_name(*earlier)} {_verb(first.what)} it"
            text += self._quote_both(first.instruction, second.instruction, there, here)
        return text + (
            "No barrier of the cluster lies between them, so that on a GPU either may come first; __syncthreads() "
            "waits for one block only. Put cluster.sync() between the two accesses."
        )

    def cluster_unwritten(self, hazard: ClusterHazard, element: str, _, later: tuple[Index, Index]) -> str:
        """`element` is read by another block before anybody has written it."""
        return (
            f"{self._program.name}: {lane_name(*later)} {hazard.second.what} {element}, which no thread has written.\n"
            + self._quote(hazard.second.instruction)
            + "Shared memory holds anything at first."
        )

    def cluster_ended(self, hazard: ClusterHazard, element: str, _, later: tuple[Index, Index]) -> str:
        """The block of `element` may have ended before."""
        return (
            f"{self._program.name}: {lane_name(*later)} {_verb(hazard.second.what)} {element}, which may have ended.\n"
            + self._quote(hazard.second.instruction)
            + "A block's shared memory is gone when its last thread ends. Put cluster.sync() behind the last access, "
            "so that every block stays until the others are done."
        )

    # ---- local memory
    def local_unwritten(self, instruction: int, block: Index, thread: Index) -> str:
        """A thread reads an element of its own array before it has written it."""
        return (
            f"{self._program.name}: {lane_name(block, thread)} reads a variable of its own, or an element of one, "
            "which it has not written.\n"
            + self._quote(instruction)
            + "What a variable inside a kernel holds at first is not defined: `float sums[8] = {};` sets all to 0."
        )

    # ---- barriers
    @property
    def size(self) -> Index:
        """That of a block."""
        return self._block

    def warps_apart(self, block: Index, lines: Sequence[int], text: str) -> str:
        """Whole warps pass one barrier at different `__syncthreads()`."""
        source = self._program.source_lines
        quoted = [f"  line {line}: {source[line - 1].strip()}\n" for line in lines if 1 <= line <= len(source)]
        return (
            f"{self._program.name}: the threads of block {coordinates(block)} {text}.\n{''.join(quoted)}"
            "A GPU counts the warps that have come, wherever, and lets them go on, and so it was done here. By CUDA's "
            "guide __syncthreads() must be reached by all threads of the block. Warps with different work may have a "
            "barrier with a number, `bar.sync 1, threads`."
        )

    # ---- masks of warps
    def not_named(self, instruction: int, block: Index, thread: Index, mask: int) -> str:
        """A thread calls a function of its warp with a mask without its own bit."""
        return (
            f"{self._program.name}: {lane_name(block, thread)} calls a _sync function of its warp whose mask, "
            f"{mask:#010x}, does not name it.\n"
            + self._quote(instruction)
            + "On a GPU the result is not defined. Each thread that comes there must be one of those that the "
            "mask names: 0xffffffff where the whole warp comes."
        )

    def not_come(self, instruction: int, block: Index, thread: Index, absent: Index) -> str:
        """A thread waits for lanes that its mask names, and that go past."""
        return (
            f"{self._program.name}: {lane_name(block, thread)} calls a _sync function of its warp whose mask names "
            f"thread {coordinates(absent)}, too, which goes another way and never comes there.\n"
            + self._quote(instruction)
            + "On a GPU the result is not defined."
        )

    def not_at_barrier(self, instruction: int, block: Index, thread: Index, absent: Index) -> str:
        """A thread waits at a barrier of the block for one of its warp that goes past."""
        return (
            f"{self._program.name}: {lane_name(block, thread)} waits at __syncthreads() for thread "
            f"{coordinates(absent)} of its warp, which goes another way and never comes there.\n"
            + self._quote(instruction)
            + f"On a GPU that is not defined, and may hang. {BY_ALL_THREADS}"
        )

    def absent_lane(self, instruction: int, block: Index, thread: Index, use: Use) -> str:
        """A thread uses what a shuffle took from a lane that does not take part."""
        taker, lane, absence = use.taken
        taker_name = "it" if taker == use.thread else f"thread {coordinates(self.thread_index(taker))}"
        lanes = product(self._block) - taker // WARP * WARP
        why = {
            Absence.NO_THREAD: (
                f"which does not exist: the block of {product(self._block)} threads gives this warp {lanes}"
            ),
            Absence.ENDED: "which has ended",
            Absence.ELSEWHERE: "which does not take part in it: it is elsewhere, or the mask does not name it",
            Absence.NOT_NAMED: "which the mask does not name",
        }[absence]
        must = "A lane must come to the shuffle itself to bring a value there."
        if absence == Absence.NOT_NAMED:
            must = "A shuffle may take values only from lanes that its mask names."
        at = "" if self.lines(use.instruction) == self.lines(instruction) else self._quote(use.instruction)
        return (
            f"{self._program.name}: {lane_name(block, thread)} {use.how.format('a value that is not defined')}: "
            f"{taker_name} took it by a shuffle from lane {lane} of its warp, {why}.\n"
            f"{self._quote(instruction)}{at}{must}"
        )

    def unnamed_lane(self, instruction: int, block: Index, thread: Index, use: Use) -> str:
        """A thread uses what a shuffle took from a lane that its mask does not name."""
        return self.absent_lane(instruction, block, thread, use)

    # ---- variables
    def never_set(self, first: int, use: Use, block: Index, thread: Index) -> tuple[str, str]:
        """(a variable, what is wrong) where a thread uses what was computed by `first` from one that is never set."""
        name, declared, advice = self._unset_variable((*self.lines(first), *self.lines(use.instruction)))
        at = "" if self.lines(use.instruction) == self.lines(first) else self._quote(use.instruction)
        what = f"{name}, a variable without a first value" if name else "a value that nothing has set"
        return name, (
            f"{self._program.name}: {lane_name(block, thread)} {use.how.format('what was computed from ' + what)}.\n"
            f"{declared}{self._quote(first)}{at}{advice}"
        )

    def _unset_variable(self, lines: Sequence[int]) -> tuple[str, str, str]:
        """(the name, the quoted declaration, what to write) of a variable that these source lines name, and the source
        sets nowhere; what to write in general where there is none. Of several it is one that they add to."""
        source = self._program.source_lines
        texts = [source[line - 1] for line in lines if 1 <= line <= len(source)]
        never_set = {
            word: declared
            for text in texts
            for word in WORD.findall(text.split("//")[0])
            if (declared := self._declaration(word)) and not self._is_set(word)
        }
        grows = r"mma_sync\s*\(\s*{0}\b|\b{0}\b[^;=]*[-+*/|&^]=(?!=)"  # a sum, also of tensor cores
        grown = [word for word in never_set for text in texts if re.search(grows.format(word), text)]
        if not grown and len(never_set) != 1:
            return "", "", NO_VALUE
        word = (grown or [*never_set])[0]
        number, declared = never_set[word]
        quoted = "" if number in lines else f"  line {number}: {source[number - 1].strip()}\n"
        if "fragment" in declared["type"]:
            by = (
                f"fill_fragment({word}, 0.0f);"
                if "accumulator" in declared["type"]
                else f"load_matrix_sync({word}, …);"
            )
            return word, quoted, f"Give it its values before it is used: wmma::{by}"
        sizes = re.search(rf"\b{word}\s*((?:\[[^\]]*\]\s*)*)", declared["names"])[1].strip()
        if word not in grown:
            return word, quoted, "Give it a value on every path that leads to its use."
        value = "{}" if sizes else "0"
        return (
            word,
            quoted,
            f"Give it its first value where it is declared: {declared['type']} {word}{sizes} = {value};",
        )

    def _is_set(self, word: str) -> bool:
        """Whether the source may give a variable a value somewhere that is not made of its own: itself, by another
        name, or by a function."""
        by_call = rf"(?!{NO_CALLS})\b\w+\s*(?:<[^;<>]*>\s*)?\([^;{{}}]*\b{word}\b"
        sets = rf"\b{word}\s*(?:\.\w+\s*|\[[^\]]*\]\s*)*=(?!=)(?![^;]*\b{word}\b)|&\s*(?:\w+\s*=\s*)?{word}\b|{by_call}"
        text = "\n".join(line.split("//")[0] for line in self._program.source_lines)
        return re.search(sets, text) is not None

    def _declaration(self, word: str) -> tuple[int, re.Match] | None:
        """(the source line, the match of DECLARED) of a variable that is declared once, without a first value."""
        declarations = []
        for number, text in enumerate(self._program.source_lines, 1):
            for match in DECLARED.finditer(text) if word in text and "__shared__" not in text else ():
                names = (re.split(r"[\[\s]", name.strip())[0] for name in match["names"].split(","))
                if word in names and match["type"] not in NO_TYPES:
                    declarations.append((number, match))
        return declarations[0] if len(declarations) == 1 else None

    # ---- global memory
    def global_unwritten(self, hazard: GlobalHazard, array: str, element: str, block: Index, thread: Index) -> str:
        """`element` of `array` is read before it was written."""
        thread_name = lane_name(block, thread)
        return (
            f"{self._program.name}: {thread_name} {hazard.second.what} {element}, which was never written.\n"
            + self._quote(hazard.second.instruction)
            + f"{array} was made by empty(), which leaves its elements undefined. Make it with zeros() or "
            "full(), or write every element before it is read."
        )

    def global_race(
        self, hazard: GlobalHazard, element: str, earlier: tuple[Index, Index], later: tuple[Index, Index]
    ) -> str:
        """Two threads, as (block, thread), access `element` in no order."""
        first, second = hazard.first, hazard.second
        line, two = self.lines(first.instruction)[-1], self.lines(second.instruction)[-1]
        where = f"line {line}" if line == two else f"lines {line} and {two}"
        between = earlier[0] != later[0]
        place_of_race = "between blocks" if between else f"inside block {coordinates(later[0])}"
        sides = [
            f"{lane_name(*location)} {_verb(side.what)} {element}"
            for location, side in ((earlier, first), (later, second))
        ]
        text = f"{self._program.name}: race in global memory, {where}, {place_of_race}.\n"
        text += self._quote_both(first.instruction, second.instruction, *sides)
        if between and self._is_of_small_scope(first, second):
            return text + (
                "An operation of a block's scope, such as atomicAdd_block, is atomic among the threads of its own "
                "block only. Use atomicAdd, or cuda::thread_scope_device, where other blocks use the same element."
            )
        if first.instruction == second.instruction:
            return text + (
                "Both write different values, and which of them stays is not defined. Let one thread write each "
                "element, or combine the values with an atomic function such as atomicAdd."
            )
        if between:
            text += "Blocks run in any order and do not wait for each other. "
        else:
            text += "No barrier orders them, so that on a GPU either may come first. "
        if hazard.missing_release is not None:
            return text + self._untold(hazard, line)
        if line == two:
            return text + (
                "If several threads add to one element, use atomicAdd; else let each element be written by one thread, "
                "from values that no other thread changes in this launch."
            )
        if {first.what, second.what} == {"reads", "updates"}:
            text += "Where the value of before is as good as the one of after, read it through a volatile pointer. "
        if not between:
            return text + f"Put __syncthreads() between line {min(line, two)} and line {max(line, two)}."
        return text + (
            "Write to another array than the one that is read, or do the second step in a second launch; if a counter "
            "tells who is last, put __threadfence() between the data and the counter's atomicAdd."
        )

    def _is_of_small_scope(self, *sides: GlobalSide) -> bool:
        """Whether all accesses are strong, and one has the scope of a block."""
        instructions = [self._program.instructions[side.instruction] for side in sides]
        strong = (i.strong or side.what == "updates" for i, side in zip(instructions, sides, strict=True))
        return all(strong) and any(i.block_scope for i in instructions)

    def _untold(self, hazard: GlobalHazard, line: int) -> str:
        """What a thread should have done behind a line before others learn of it by a counter or a flag."""
        purpose = (
            f"If what line {self.lines(hazard.missing_release.read_by)[-1]} finds is to tell that line {line} is done, "
        )
        if hazard.missing_release.missing == "fence":
            return f"{purpose}put __threadfence() behind line {line}, before the counter or the flag there is changed."
        barrier = f"put __syncthreads() behind the fence that follows line {line}"
        return f"{purpose}{barrier}, before one thread changes the counter or the flag for all."
