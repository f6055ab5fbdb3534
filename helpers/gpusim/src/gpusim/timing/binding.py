"""The SM model's C program (sm.c) as Python sees it: its structures, its functions."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_void_p
from functools import cache

from gpusim import native

REASONS = 12


def _structure(name: str, kind: type, fields: str) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [(field, kind) for field in fields.split()]})


Instruction = _structure(
    "Instruction", c_int32,
    "unit stall wait write_scoreboard read_scoreboard reads_even reads_odd bytes pending past_l1 reads_constant "
    "of_floats interval",
)  # fmt: skip


class Job(ctypes.Structure):
    _fields_ = [
        *((name, c_int32) for name in ("instructions", "basic_blocks", "arrays", "blocks", "resident")),
        ("instruction", POINTER(Instruction)),
        ("block_start", POINTER(c_int32)),
        ("block_stop", POINTER(c_int32)),
        ("array_start", POINTER(c_int64)),
        ("array_stop", POINTER(c_int64)),
        ("sharing", POINTER(c_double)),
        ("written", POINTER(c_double)),
        ("waves", c_double),
        ("fraction", c_double),
        ("cold", c_int32),
        ("cold_code", c_int32),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        *((name, c_double) for name in ("cycles", "instructions", "blocks")),
        ("stalls", c_double * REASONS),
        ("lost", c_double * REASONS),
        ("closed", c_double),
        *((name, c_double) for name in ("l1_sectors", "l1_hits", "l2_sectors", "dram_sectors", "written_sectors")),
        *((name, c_double) for name in ("shared_wavefronts", "lsu_cycles")),
        ("unit", c_double * 32),
        *((name, c_double) for name in ("dram_busy", "l2_busy", "store_busy", "issue_slots")),
    ]


@cache
def library() -> ctypes.CDLL:
    """The compiled program, its functions declared."""
    lib = native.load("cycles")
    longs = POINTER(c_int64)
    for name, result, arguments in (
        ("machine_fields", c_char_p, ()),
        ("trace_new", c_void_p, (c_int32, c_int32)),
        ("trace_free", None, (c_void_p,)),
        ("trace_executed", None, (c_void_p, c_int32, c_void_p)),
        ("trace_access", None, (c_void_p, c_int32, c_int32, c_int32, c_void_p, c_void_p)),
        ("trace_copy", None, (c_void_p, c_int32, c_int32, c_void_p, c_void_p, c_void_p, c_void_p)),
        ("trace_repeat", c_int32, (c_void_p, c_int64, c_int64)),
        ("trace_finish", c_int32, (c_void_p,)),
        ("trace_facts", None, (c_void_p, POINTER(c_int32), longs)),
        ("sectors_new", c_void_p, ()),
        ("sectors_free", None, (c_void_p,)),
        ("sectors_add", None, (c_void_p, c_void_p, c_void_p, c_int32, c_int32, c_void_p, c_int32)),
        ("sectors_shared", None, (c_void_p, c_int64, c_int64, longs)),
        ("sectors_written", None, (c_void_p, c_int64, c_int64, longs)),
        (
            "simulate",
            c_int64,
            (c_void_p, c_void_p, POINTER(Job), POINTER(Result), c_void_p, c_void_p, c_void_p, c_int64),
        ),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, list(arguments)
    return lib


def machine(constants: dict[str, float]) -> ctypes.Array:
    """`Machine` of sm.c, whose fields are all doubles, from constants by name. KeyError if one is missing."""
    names = library().machine_fields().decode().split()
    return (c_double * len(names))(*(float(constants[name]) for name in names))
