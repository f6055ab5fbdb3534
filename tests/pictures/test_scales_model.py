"""Eight bits and a scale: what is representable, and how errors fall with finer scales."""

import numpy as np
import pytest

from helpers.pictures.scales import model
from helpers.pictures.scales.model import COLUMN, FP8, GROUP, INT8, TENSOR


def test_finer_scales_help_whole_numbers_and_hardly_floats():
    errors = model.errors()
    assert errors[INT8][TENSOR] > 10 * errors[INT8][COLUMN] > 20 * errors[INT8][GROUP]
    assert max(errors[FP8].values()) < 1.2 * min(errors[FP8].values())
    assert errors[INT8][GROUP] < errors[FP8][GROUP] < errors[INT8][TENSOR]


@pytest.mark.parametrize("form", [INT8, FP8])
@pytest.mark.parametrize("granularity", model.GRANULARITIES)
def test_largest_value_of_a_shared_scale_is_the_formats_largest(form, granularity):
    given = model.operands()
    scaled = np.abs(given.B / model.scales(given.B, form, granularity, 0))
    assert scaled.max() == pytest.approx(model.LARGEST[form])
    by_group = scaled.reshape(-1, model.GROUP_SIZE, model.COLUMNS).max(axis=1)
    most = {TENSOR: scaled.max(), COLUMN: scaled.max(axis=0), GROUP: by_group}[granularity]
    assert most == pytest.approx(np.full_like(most, model.LARGEST[form]))


def test_numbers_of_a_format_are_stored_as_they_are():
    for form in (INT8, FP8):
        numbers = model.numbers_within(form, 1.0, model.LARGEST[form])
        assert (model.rounded(numbers, form) == numbers).all()
    assert len(model.numbers_within(INT8, 0.5, 2.0)) == 9  # -2, -1.5, … 2


def test_a_column_that_fills_int8_is_off_by_half_a_step_at_most():
    column = np.linspace(-1, 1, 999)[:, None]
    left = model.stored(column, INT8, COLUMN, 0)
    assert np.abs(left - column).max() <= 0.5 / 127 + 1e-12
