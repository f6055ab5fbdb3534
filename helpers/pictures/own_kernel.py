"""A learner's own kernel as explorers take it: what was left out is found out, what is no kernel gets a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from gemm_kernels import Kernel, OwnKernel, get
from gpusim import compiler
from gpusim.sentences import BadInput
from helpers import run
from helpers.pictures.live import CannotShow
from helpers.pictures.tile_of_block.facts import tile_of_block

Own = OwnKernel | Kernel | str | None
"""What an explorer is given: a learner's kernel, one of the ladder or its name, or none."""

SQUARE = 128  # M = N = K of a kernel that takes one size
PROBED = (256, 256, 64)  # M, N, K of the launch that tells the tile, unless the kernel names its shape
ANY_KERNEL = "coalescing, thread_map, bank_board, vector_width, heat_source, occupancy and diff show it"


def taken(given: Own | Any) -> OwnKernel | None:
    """A kernel of the learner's, or one of the ladder or its name, with the tile that it has; None for none.

    CannotShow, in a sentence, for anything else.
    """
    if given is None or isinstance(given, OwnKernel):
        return given and _completed(given)
    if isinstance(given, Kernel):
        return OwnKernel.of(given)
    if isinstance(given, str) and "__global__" not in given:
        try:
            return OwnKernel.of(get(given))
        except ValueError as error:
            raise CannotShow(str(error)) from None
    what = "the source of a kernel without its launch" if isinstance(given, str) else f"of type {type(given).__name__}"
    raise CannotShow(
        f"What the explorer was given is {what}. Give it a kernel: OwnKernel(source, 'its name', block=(16, 16)), "
        "course.kernel('its name'), or the name of a kernel of the course."
    )


def multiplication(given: Own | Any, picture: str, *, any_k: bool = False) -> OwnKernel | None:
    """As `taken`, for a picture of multiplications alone. picture: what it shows, "the tiles of A and B".

    any_k: it is made from launches with several K, which a kernel of one size does not have.
    """
    own = taken(given)
    if own is not None and own.args is not None:
        raise CannotShow(
            f"This explorer shows {picture}, and {own.name} was given arguments of its own, which do not say which of "
            f"them are A, B and C. {ANY_KERNEL[0].upper()}{ANY_KERNEL[1:]}; a multiplication needs no args."
        )
    if own is not None and any_k and _takes_one_size(own):
        raise CannotShow(
            f"This explorer shows {picture}, from launches with several K, and {own.name} takes one size for M, N and "
            f"K. {ANY_KERNEL[0].upper()}{ANY_KERNEL[1:]}."
        )
    return own


def sizes(name: str, given: Any, counts: Sequence[int]) -> tuple[int, ...]:
    """Whole numbers of at least 1, so many as one of the counts says. BadInput, in a sentence, for anything else.

    name: what they are, "block".
    """
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in counts:
        example = ", ".join(("32", "8", "1")[: max(counts)])
        raise BadInput(f"{name} is {given!r}; it must be {' or '.join(map(str, counts))} sizes, as {name}=({example}).")
    for size in given:
        if not isinstance(size, Integral) or size < 1:
            raise BadInput(f"{name} is {given!r}; {size!r} is no whole number of at least 1.")
    return tuple(given)


def of_kind(name: str, given: Any, kind: type) -> Any:
    """What was given, if it is of that kind, or None. BadInput, in a sentence, for anything else."""
    if given is None or isinstance(given, kind):
        return given
    raise BadInput(f"{name} is {given!r}; it must be a {kind.__name__}, as {name}={kind.__name__}(…).")


def _takes_one_size(own: OwnKernel) -> bool:
    roles = {run.role_of(name) for name in compiler.parameter_names(own.source, own.entry)}
    return {"A", "B", "C", "N"} <= roles and not {"M", "K"} <= roles


def _completed(own: OwnKernel) -> OwnKernel:
    """With the shape that a kernel of one size needs, and the tile and the axis of rows that were left out."""
    if own.args is not None:
        return own
    if own.shape is None and _takes_one_size(own):
        own = replace(own, shape=(SQUARE,) * 3)
    return _with_tile(own) if own.guessed else own


def _with_tile(own: OwnKernel) -> OwnKernel:
    tile = tile_of_block(own.launch(*(own.shape or PROBED)), own.grid is None)
    if tile is None:
        return own
    rows_along = tile.rows_along or own.rows_along
    return replace(own, tile=tile.tile, rows_along=rows_along, depth=tile.depth or own.depth)
