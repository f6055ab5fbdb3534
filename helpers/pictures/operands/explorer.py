"""The explorer of the family: op, gaps, batch and epilogue → a block's tile in memory, its sectors, its bytes."""

from __future__ import annotations

from helpers.pictures import page, theme
from helpers.pictures.controls import choice_list, range_slider, switch
from helpers.pictures.live import LiveExplorer
from helpers.pictures.operands.facts import EPILOGUES, Member, moved
from helpers.pictures.operands.figure import CAPTION_LINES, HEIGHT, operands_figure

MOST_GAP, MOST_PRODUCTS = 12, 4
STORED = (("as it is", "N"), ("transposed", "T"))


def picture_of(member: Member) -> theme.Figure:
    """One setting."""
    factors = " · ".join(f"{name}ᵀ" if op == "T" else name for name, op in (("A", member.op_a), ("B", member.op_b)))
    words = [factors] + [f"{member.products} products"] * (member.products > 1)
    words += [EPILOGUES[member.epilogue]] * (member.epilogue > 0)
    return operands_figure(moved(member), f"A member of the family: {', '.join(words)}")


class OperandsExplorer(LiveExplorer):
    """Controls for the operands, the batch and the epilogue."""

    def __init__(self, member: Member) -> None:
        self.op_a = choice_list("A is stored", STORED, member.op_a)
        self.op_b = choice_list("B is stored", STORED, member.op_b)
        self.gap = range_slider("gap", 0, MOST_GAP, member.gap)
        self.products = range_slider("products", 1, MOST_PRODUCTS, member.products)
        self.epilogue = choice_list("epilogue", [(name, n) for n, name in enumerate(EPILOGUES)], member.epilogue)
        self.along = switch("neighbours load neighbours in memory", member.along_memory)
        self.shared = switch("one B for all", member.shared)
        self.fused = switch("in one kernel", member.fused)
        rows = [
            [self.op_a, self.op_b],
            [self.gap, self.products],
            [self.epilogue, self.fused],
            [self.along, self.shared],
        ]
        super().__init__("Explorer: a block's tile, wherever it lies.", rows, page.full_height(HEIGHT, CAPTION_LINES))

    @property
    def member(self) -> Member:
        """What the controls say now."""
        return Member(self.op_a.value, self.op_b.value, self.gap.value, self.products.value, self.shared.value,
                      self.along.value, self.epilogue.value, self.fused.value)  # fmt: skip

    def settle(self, moved: object) -> None:
        """Nothing depends on another control."""

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.member), ""


def explore(
    *, op_a: str = "N", op_b: str = "T", gap: int = 4, products: int = 1, along_memory: bool = True, epilogue: int = 0
) -> OperandsExplorer:
    """The explorer, beginning with this member."""
    return OperandsExplorer(Member(op_a, op_b, gap, products, False, along_memory, epilogue))
