"""Which architectures a CUDA source can be compiled for, read from the PTX instructions that it is written with."""

from __future__ import annotations

import re
from functools import lru_cache

# The first architecture that has the instruction (PTX ISA, "Target ISA Notes" of each); the newest first.
SINCE = {
    "cp.async.bulk": 90,
    "cp.async": 80,
    "mbarrier": 80,
    "mapa": 90,
    ".L2::256B": 80,  # how much of what lies near the L2 cache fetches, too: a part of loads
}
ONLY = {"wgmma": 90}  # no later architecture has it; it is compiled for sm_90a
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@lru_cache(maxsize=256)
def refused(source: str, arch: str) -> str:
    """Why a source cannot be compiled for an architecture, or "" if nothing that is known here forbids it.

    arch: "sm_75". The answer is the end of a sentence: "uses cp.async, which needs sm_80 or newer".
    """
    instructions = "\n".join(_QUOTED.findall(source))
    have = int(re.sub(r"\D", "", arch))
    for name, since in SINCE.items():
        if since > have and _has(instructions, name):
            return f"uses {name}, which needs sm_{since} or newer"
    for name, only in ONLY.items():
        if only != have and _has(instructions, name):
            return f"uses {name}, which only sm_{only}a has"
    return ""


def _has(instructions: str, name: str) -> bool:
    begins = "" if name.startswith(".") else r"(?<![\w.])"
    return re.search(rf"{begins}{re.escape(name)}\b", instructions) is not None
