"""The ladder: every kernel of the course, slowest first, each a change to the one that it names as `after`."""

from __future__ import annotations

from gemm_kernels.kernel import Kernel, Launch, Rule

# --- naive, coalesced: a thread computes one element, and the block's shape is chosen at the launch -----------------

BLOCK_SHAPE_RULES = (
    Rule("block_x and block_y must be at least 1", lambda p: p["block_x"] >= 1 and p["block_y"] >= 1),
    Rule(
        "block_x * block_y must be at most 1024, the most threads a block can have",
        lambda p: p["block_x"] * p["block_y"] <= 1024,
    ),
)
X_DOWN_ROWS = Launch(
    block=lambda p: (p["block_x"], p["block_y"], 1), tile=lambda p: (p["block_x"], p["block_y"]), rows_along="x"
)
X_ALONG_COLUMNS = Launch(block=lambda p: (p["block_x"], p["block_y"], 1), tile=lambda p: (p["block_y"], p["block_x"]))

# --- shared_memory: a thread computes one element, a block one T x T tile -------------------------------------------

SQUARE_TILE_RULES = (
    Rule("T must be at least 1", lambda p: p["T"] >= 1),
    Rule("T * T must be at most 1024, the most threads a block can have", lambda p: p["T"] * p["T"] <= 1024),
)
SQUARE_TILE = Launch(block=lambda p: (p["T"], p["T"], 1), tile=lambda p: (p["T"], p["T"]))

# --- the ladder -----------------------------------------------------------------------------------------------------

LADDER: tuple[Kernel, ...] = (
    Kernel(
        "naive", "Naive", "One thread computes one element of C, and threadIdx.x runs down the rows.",
        after=None, params={"block_x": 32, "block_y": 32}, rules=BLOCK_SHAPE_RULES, launch=X_DOWN_ROWS, template=False,
    ),
    Kernel(
        "coalesced", "Coalesced", "threadIdx.x runs along the columns, so that a warp reads and writes neighbours.",
        after="naive", params={"block_x": 32, "block_y": 32}, rules=BLOCK_SHAPE_RULES, launch=X_ALONG_COLUMNS,
        template=False,
    ),
    Kernel(
        "shared_memory", "Shared memory", "A block loads a tile of A and of B once and reads each element T times.",
        after="coalesced", params={"T": 32}, rules=SQUARE_TILE_RULES, launch=SQUARE_TILE,
    ),
)  # fmt: skip


def get(name: str) -> Kernel:
    """The kernel with this name, with its default parameters. ValueError names them all if there is none."""
    for kernel in LADDER:
        if kernel.name == name:
            return kernel
    raise ValueError(f"there is no kernel {name!r}; the ladder has {', '.join(kernel.name for kernel in LADDER)}")
