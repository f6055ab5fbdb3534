"""The explorer of a tree in shared memory: block, order and step → who takes from whom, and at which banks.

`explore()` is the explorer, `picture_of(choice)` what it is made from, by recorded addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpusim.devices import WARP
from helpers import run
from helpers.pictures import theme
from helpers.pictures.controls import choice_list, range_slider
from helpers.pictures.exchange import facts as exchange
from helpers.pictures.exchange.facts import Exchange
from helpers.pictures.exchange.figure import FIGURE_HEIGHT, exchange_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.widgets import choice_slider

BLOCKS = (32, 64, 128)
ORDERS = ("the first half adds", "every second thread adds", "the first threads add neighbours")
# A block adds up x in one of three orders. They need the same steps, and differ in who adds, and where.
SOURCE = """
template <int THREADS, int ORDER>
__global__ void block_sum(const float *x, float *total) {
    __shared__ float s[THREADS];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const int half = THREADS / 2 / step;
        if (ORDER == 0 && t < half) s[t] += s[t + half];
        if (ORDER == 1 && t % (2 * step) == 0) s[t] += s[t + step];
        if (ORDER == 2 && 2 * step * t < THREADS) s[2 * step * t] += s[2 * step * t + step];
        __syncthreads();
    }
    if (t == 0) *total = s[0];
}
"""


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. threads: of the block.  order: a name of ORDERS.  step: from 1 on."""

    threads: int = 64
    order: str = "the first half adds"
    step: int = 1


def entry(threads: int, order: str) -> str:
    """The instantiation of SOURCE for a block and an order."""
    return f"block_sum<{threads}, {ORDERS.index(order)}>"


@lru_cache(maxsize=16)
def exchanged(threads: int, order: str) -> Exchange:
    """All steps of a block, as recorded."""
    kernel = run.simulated(SOURCE, entry(threads, order))
    x, total = np.arange(threads, dtype=np.float32), np.zeros(1, np.float32)
    recording = run.recorded(kernel, (1,), (threads,), (x, total))
    if total[0] != x.sum():
        raise AssertionError(f"{order}: the tree gives {total[0]}, not {x.sum()}")
    return exchange.tree(recording)


def picture_of(choice: Choice, *, whole: bool = False) -> theme.Figure:
    """The tree with one step and its banks. whole: as high as every other."""
    exchange = exchanged(choice.threads, choice.order)
    title = f"{choice.threads} threads: {choice.order}"
    return exchange_figure(exchange, title, chosen=choice.step - 1, whole=whole)


def busy_warps(choice: Choice) -> int:
    """In how many warps a thread adds in this step."""
    step = exchanged(choice.threads, choice.order).steps[choice.step - 1]
    return len({taker // WARP for _, taker in step.pairs})


class TreeExplorer(LiveExplorer):
    """Controls for the block, the order and the step."""

    def __init__(self, choice: Choice) -> None:
        self.threads = choice_slider("threads", BLOCKS, choice.threads)
        self.order = choice_list("order", [(name, name) for name in ORDERS], choice.order)
        self.step = range_slider("step", 1, int(np.log2(choice.threads)), choice.step)
        rows = [[self.threads, self.order], [self.step]]
        super().__init__("Explorer: who adds what, at which banks.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.threads.value, self.order.value, self.step.value)

    def settle(self, moved: object) -> None:
        most = int(np.log2(self.threads.value))
        self.step.value = min(self.step.value, most)
        self.step.max = most

    def draw(self) -> tuple[theme.Figure, str]:
        choice = self.choice
        note = f"Warps with a thread that adds in this step: {busy_warps(choice)} of {choice.threads // WARP}."
        return picture_of(choice, whole=True), note


def explore(*, threads: int = 64, order: str = "the first half adds", step: int = 1) -> TreeExplorer:
    """The explorer, beginning with this block, order and step."""
    return TreeExplorer(Choice(threads, order, step))


def small_multiples() -> theme.Figure:
    """The static twin: neighbours first, in a step whose loads queue at the banks."""
    return picture_of(Choice(128, "the first threads add neighbours", 3))
