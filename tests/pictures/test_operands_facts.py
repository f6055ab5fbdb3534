"""A member of the family, recorded: sectors of its requests, and bytes of its launches."""

import numpy as np
import pytest

from helpers import run
from helpers.exercises.framework.problems import values
from helpers.exercises.n18.members import gelu
from helpers.pictures.operands import explorer, facts
from helpers.pictures.operands.facts import BLOCK, SOURCE, Member, moved


@pytest.mark.parametrize(
    ("member", "sectors"),
    [
        (Member(), [4, 4, 4]),
        (Member(op_a="T", op_b="T"), [4, 4, 4]),
        (Member(op_a="T", op_b="T", along_memory=False), [16, 16, 4]),
        (Member(gap=4), [5, 5, 5]),  # the second row begins in the middle of a sector
        (Member(gap=8), [4, 4, 4]),
    ],
)
def test_a_request_touches_the_sectors_of_its_rows(member, sectors):
    assert [operand.request.sectors for operand in moved(member).operands] == sectors


def test_lanes_stand_inside_the_drawn_tile():
    for member in (Member(op_a="T"), Member(op_b="T", gap=3), Member(op_b="T", along_memory=False)):
        for operand in moved(member).operands:
            row, column, rows, columns = operand.tile
            lanes = operand.lanes
            assert (
                len(lanes) == 32 and (lanes >= (row, column)).all() and (lanes < (row + rows, column + columns)).all()
            )


def test_a_second_kernel_moves_c_twice_more():
    fused, apart = (moved(Member(epilogue=2, fused=is_fused)) for is_fused in (True, False))
    assert apart.launches == 2
    assert apart.stored - fused.stored == apart.loaded - fused.loaded == 4 * facts.M * facts.N


def test_a_batch_with_one_b_needs_it_once():
    own, shared = (moved(Member(products=3, shared=is_shared)) for is_shared in (False, True))
    assert own.needed - shared.needed == 2 * 4 * facts.K * facts.N
    assert own.loaded == shared.loaded
    assert [[operand.sheets for operand in both.operands] for both in (own, shared)] == [[3, 3, 3], [3, 1, 3]]


@pytest.mark.parametrize("member", [Member(), Member("T", "T", 3), Member("N", "T", 0, 1, False, False)])
def test_the_recorded_kernel_computes_its_member(member):
    M, N, K = facts.M, facts.N, facts.K
    stored = {}
    for name, seed in (("A", 1), ("B", 2)):
        rows, columns = member.stored(name)
        stored[name] = values(rows, member.leading(name), seed)
    A, B = (
        stored[name][:, : member.stored(name)[1]].T if op == "T" else stored[name][:, : member.stored(name)[1]]
        for name, op in (("A", member.op_a), ("B", member.op_b))
    )
    C, bias, R = np.zeros((M, member.leading("C")), np.float32), values(1, N, 3)[0], values(M, N, 4)
    args = [*map(np.int32, (M, N, K))]
    for name in "AB":
        args += [stored[name], *map(np.int32, (*member.strides(name), 0))]
    args += [C, *map(np.int32, (member.leading("C"), 0, member.along_memory, 3)), bias, R]
    run.simulated(SOURCE.read_text(encoding="utf-8"), "member")((N // 16, M // 16), BLOCK, tuple(args))
    assert np.allclose(C[:, :N], gelu(A.astype(np.float64) @ B + bias) + R, rtol=1e-5, atol=1e-4)


def test_the_caption_counts_launches_and_bytes():
    caption = explorer.picture_of(Member(epilogue=1, fused=False)).caption
    assert "In 2\u00a0launches" in caption and "4 sectors of A and 4 of B" in caption


def test_the_explorer_draws_what_its_controls_say():
    widgets = explorer.explore(op_b="N", gap=0)
    widgets.gap.value, widgets.op_b.value, widgets.along.value = 4, "T", False
    assert widgets.member == Member("N", "T", 4, 1, False, False, 0)
