"""Which architectures a CUDA source can be compiled for, read from the PTX instructions that it is written with."""

from __future__ import annotations

import re
from functools import lru_cache

# The first architecture that has the instruction (PTX ISA, "Target ISA Notes" of each); the newest first.
SINCE = {
    "wgmma": 90,
    "cp.async.bulk": 90,
    "cp.async": 80,
    "mbarrier": 80,
}
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@lru_cache(maxsize=256)
def refused(source: str, arch: str) -> str:
    """Why a source cannot be compiled for an architecture, or "" if nothing that is known here forbids it.

    arch: "sm_75". The answer is the end of a sentence: "uses cp.async, which needs sm_80 or newer".
    """
    instructions = "\n".join(_QUOTED.findall(source))
    have = int(re.sub(r"\D", "", arch))
    for name, since in SINCE.items():
        if since > have and re.search(rf"(?<![\w.]){re.escape(name)}\b", instructions):
            return f"uses {name}, which needs sm_{since} or newer"
    return ""
