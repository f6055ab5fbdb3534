"""Clusters of blocks in PTX: addresses in the shared memory of other blocks, and the barrier of a cluster.

Reference: PTX ISA, 'mapa', 'getctarank' and 'barrier.cluster'. An address here holds above its byte the rank of the
block plus one, or 0 for the thread's own block: what `mov` and `cvta` give is not told apart by blocks.
"""

import numpy as np

from gpusim.compiler.ptx import Statement
from gpusim.engine import clusters
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import ClusterBarrier, Effect, Outcome


def rank_of_address(t: Operands, s: Statement) -> Outcome:
    """getctarank{.shared::cluster}.{u32,u64} d, a: the rank of the block that has an address."""
    destination, source = s.operands
    address = t.pointer(source) if s.type == "u64" else t.read(source, "s32")
    slot = t.target(destination)

    def execute(wave, registers, mask):
        field = (address(registers) >> RANK_SHIFT & 0xFF).astype(np.int32)
        return (np.where(field == 0, wave.special["cluster_ctarank"], field - np.int32(1)).astype(np.int32),)

    return Effect((slot,), execute)


def barrier(t: Operands, s: Statement) -> Outcome:
    """barrier.cluster.arrive{.release,.relaxed}{.aligned}; barrier.cluster.wait{.acquire}{.aligned}."""
    words = (*s.opcode, s.type)
    if "arrive" in words:
        return Effect((), lambda wave, registers, mask: clusters.arrive(wave, mask))
    if "wait" in words:
        return ClusterBarrier()
    raise Unknown("its form")
