"""A layer of a transformer from the members of the family: each product one call of `gemm`, whatever its layout.

Attention with heads, then an MLP with a gate, each with its residual. Norms and the mask of attention are left out, and
so is dropout: they are no products. The softmax between two products is one kernel, here and in what it is compared
with. All in float32, row-major.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import epilogue
from gemm_kernels.products import Plan, plan
from helpers import gpu, measure, run

SOFTMAX = Path(measure.__file__).parent / "softmax.cu"
SOFTMAX_THREADS = 128  # as the source has them
FLOAT_BYTES = 4
NO_PRODUCT = "softmax"


@dataclass(frozen=True)
class Sizes:
    """batch: texts of `tokens` tokens, each a vector of `width`.  heads: of attention.  hidden: width in the MLP."""

    batch: int = 4
    tokens: int = 512
    width: int = 1024
    heads: int = 16
    hidden: int = 2816

    @property
    def head(self) -> int:
        """The width of one head."""
        return self.width // self.heads

    @property
    def rows(self) -> int:
        """Tokens of all texts."""
        return self.batch * self.tokens


@dataclass(frozen=True)
class Part:
    """One product of the layer, or many of one shape.

    name, member: what it is, and which member of the family.  count: of products of one shape (M, N, K).  operands:
    bytes of all that it must read and write once.
    """

    name: str
    member: str
    count: int
    shape: tuple[int, int, int]
    bytes: int

    @property
    def work(self) -> float:
        """Operations: a product and a sum count as two."""
        M, N, K = self.shape
        return 2.0 * self.count * M * N * K

    def roof_ms(self, tflops: float, gb_per_s: float) -> float:
        """The least time that the units or the memory of a GPU allow."""
        return max(self.work / tflops / 1e9, self.bytes / gb_per_s / 1e6)


def parts(sizes: Sizes) -> tuple[Part, ...]:
    """The products of the layer, in their order."""
    T, D, F, t, d, B = sizes.rows, sizes.width, sizes.hidden, sizes.tokens, sizes.head, sizes.batch * sizes.heads

    def moved(count: int, M: int, N: int, K: int, more: int = 0) -> int:
        return FLOAT_BYTES * (count * (M * K + K * N + M * N) + more)

    rows = (
        ("Q, K, V", "one product", 1, (T, 3 * D, D), 0),
        ("scores", "batch, Kᵀ, gaps between rows", B, (t, t, d), 0),
        ("values", "batch, gaps between rows", B, (t, d, t), 0),
        ("output", "residual in the epilogue", 1, (T, D, D), T * D),
        ("gate", "SiLU in the epilogue", 1, (T, F, D), 0),
        ("up", "times the gate, in the epilogue", 1, (T, F, D), T * F),
        ("down", "residual in the epilogue", 1, (T, D, F), T * D),
    )
    return tuple(
        Part(name, member, count, shape, moved(count, *shape, more)) for name, member, count, shape, more in rows
    )


def weights(sizes: Sizes, seed: int = 18) -> dict[str, np.ndarray]:
    """Random inputs and matrices, such that every activation has about the same size."""
    generator = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return (generator.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    D, F = sizes.width, sizes.hidden
    X = generator.standard_normal((sizes.rows, D)).astype(np.float32)
    return {"X": X, "QKV": drawn(D, 3 * D), "output": drawn(D, D), "gate": drawn(D, F), "up": drawn(D, F),
            "down": drawn(F, D)}  # fmt: skip


def exact(sizes: Sizes, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """The layer's result by NumPy in float64."""
    W = {name: array.astype(np.float64) for name, array in given.items()}
    X = W["X"]
    Q, K, V = (
        part.transpose(0, 2, 1, 3)
        for part in np.moveaxis((X @ W["QKV"]).reshape(sizes.batch, sizes.tokens, 3, sizes.heads, sizes.head), 2, 0)
    )
    scores = Q @ K.swapaxes(2, 3) / np.sqrt(sizes.head)
    powers = np.exp(scores - scores.max(axis=3, keepdims=True))
    attention = (powers / powers.sum(axis=3, keepdims=True)) @ V
    Y = X + attention.transpose(0, 2, 1, 3).reshape(X.shape) @ W["output"]
    gate = Y @ W["gate"]
    return Y + (gate / (1 + np.exp(-gate)) * (Y @ W["up"])) @ W["down"]


class Layer:
    """A layer on the device at hand: its arrays, and what each part launches.

    several: as in `plan`, whether a part may have its epilogue in a launch of its own.
    """

    def __init__(self, sizes: Sizes, given: Mapping[str, np.ndarray], several: bool | None = None):
        self.sizes, self.several = sizes, several
        self.given = {name: gpu.asarray(array) for name, array in given.items()}
        T, D, F = sizes.rows, sizes.width, sizes.hidden
        made = {"QKV": (T, 3 * D), "scores": (sizes.batch, sizes.heads, sizes.tokens, sizes.tokens),
                "values": (T, D), "Y": (T, D), "gate": (T, F), "up": (T, F), "result": (T, D)}  # fmt: skip
        self.made = {name: gpu.zeros(shape, np.float32) for name, shape in made.items()}

    def heads(self, array: Any, third: int = 0) -> Any:
        """(batch, heads, tokens, head): the view of what Q, K or V, number 0 to 2, is in an array of all tokens."""
        sizes = self.sizes
        split = array.reshape(sizes.batch, sizes.tokens, -1, sizes.heads, sizes.head)
        return split[:, :, third].transpose(0, 2, 1, 3)

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return self.sizes.head**-0.5

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """A plan for each of `parts`."""
        W, a = self.given, self.made
        Q, K, V = (self.heads(a["QKV"], third) for third in range(3))
        ended = partial(plan, several=self.several)
        return {
            "Q, K, V": plan(W["X"], W["QKV"], a["QKV"]),
            "scores": plan(Q, K, a["scores"], op_b="T", alpha=self.scale),
            "values": plan(a["scores"], V, self.heads(a["values"])),
            "output": ended(a["values"], W["output"], a["Y"], epilogue=epilogue.residual(W["X"])),
            "gate": ended(a["Y"], W["gate"], a["gate"], epilogue=epilogue.silu()),
            "up": ended(a["Y"], W["up"], a["up"], epilogue=epilogue.multiply(a["gate"])),
            "down": ended(a["up"], W["down"], a["result"], epilogue=epilogue.residual(a["Y"])),
        }

    @cached_property
    def softmax(self) -> Callable[[], None]:
        """The launch by which the scores become shares, in place."""
        rows, columns = self.sizes.batch * self.sizes.heads * self.sizes.tokens, self.sizes.tokens
        kernel = run.function(SOFTMAX.read_text(encoding="utf-8"), "softmax")
        return partial(run.call, kernel, (rows,), (SOFTMAX_THREADS,), (np.int32(columns), self.made["scores"]), 0)

    @property
    def steps(self) -> dict[str, Callable[[], Any]]:
        """What is launched, in order: the parts, and the softmax behind the scores."""
        plans: dict[str, Callable[[], Any]] = {}
        for name, part in self.plans.items():
            plans[name] = part
            if name == "scores":
                plans[NO_PRODUCT] = self.softmax
        return plans

    def __call__(self) -> Any:
        """The whole layer; returns its result."""
        for step in self.steps.values():
            step()
        return self.made["result"]
