"""Statements of PTX as the C program gets them: which opcodes are decoded, guards, what is not kept."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gpusim.engine import machine_layout
from gpusim.engine.ir import Instruction, Kind, Registers, basic_blocks
from gpusim.engine.lanewise import Run
from gpusim.isa import effects
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT
from gpusim.isa.ptx import decoding, opcodes
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.opcodes import decode
from tests.gpusim.instructions import parsed


def test_every_decoded_operation_is_one_of_the_c_program():
    files = Path(decoding.__file__).parent.glob("*.py")
    calls = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    named = {
        *decoding.floating.FUSED.values(),
        *decoding.floating.DOUBLE.values(),
        *decoding.comparison.QUICK_COMPARISONS.values(),
    }
    for call in calls:
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Decoded" and call.args:
            choices = [call.args[0]]
            for choice in choices:
                if isinstance(choice, ast.IfExp):
                    choices += [choice.body, choice.orelse]
                elif isinstance(choice, ast.Constant):
                    named.add(choice.value)
    assert len(named) > 60
    replayed = named - set(machine_layout.operations())
    assert replayed == {"call system", "load result", "pass argument", "pending count", "query space"}
    assert replayed <= set(effects.OF_ACCESSES)


def test_guards_are_predicates_of_the_decoded_form():
    texts = ["@%p1 add.u32 %r0, %r1, %r2", "@!%p2 add.u32 %r0, %r1, %r2", "setp.lt.u32 _|%p3, %r1, %r2"]
    operands, statements = parsed(*texts)
    instructions = [Instruction(k, s.text, s.name, 0, Kind.ALU, writes=(k,)) for k, s in enumerate(statements)]
    everywhere = basic_blocks(instructions)
    for block in everywhere:
        block.live = (1 << len(operands.types)) - 1
    program = SimpleNamespace(blocks=everywhere, instructions=instructions, global_variables={}, cluster=None)
    decoder = Decoder.of(operands, program)
    first, second, third = (decode(decoder, s, i) for s, i in zip(statements, instructions, strict=True))
    places, slots = decoder.places.predicate_of, operands.slots
    assert [each.guard for each in (first, second, third)] == [
        places[slots["%p1"]],
        places[slots["%p2"]] | NEGATED,
        ALWAYS,
    ]
    assert third.p_out == [NEVER_KEPT, places[slots["%p3"]]]


def test_parts_of_a_vector_may_be_dropped():
    operands, statements = parsed("mov.b64 {_, %r3}, %d1", "mov.b64 %d0, {%r3, %r2}")
    run = Run([opcodes.OPCODES[s.name].outcome(operands, s).computation for s in statements])
    registers = Registers(operands.initial)
    registers[operands.slots["%d1"]] = np.arange(5, dtype=np.int64) << 32 | 7
    registers[operands.slots["%r2"]] = np.int32(-2)
    run.execute(registers)
    assert registers[operands.slots["%r3"]].tolist() == [0, 1, 2, 3, 4]
    assert registers[operands.slots["%d0"]].tolist() == [k - (2 << 32) for k in range(5)]
