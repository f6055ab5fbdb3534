"""The prediction of notebook 08: what becomes of the sectors if a lane loads four floats at once."""

from __future__ import annotations

from helpers.exercises.framework.predict import Prediction, predict
from helpers.explore import vector_width

SCALAR, AT_ONCE = vector_width.WIDTHS[0], vector_width.WIDTHS[-1]


def predict_sectors() -> Prediction:
    """Sectors of a warp's copy of 128 floats with float4, where four passes of float take 16. From a recording."""
    copy = vector_width.Copy()
    before, after = (vector_width.way_of(width, copy) for width in (SCALAR, AT_ONCE))
    return predict(
        f"Sectors for one request of float4, where {before.requests} requests of float cost {before.cost} together:",
        reasons={
            4: "That is one request of float. But this request moves four times as many bytes.",
            8: "That would be half of the bytes. All 512 are needed.",
            16: "512 bytes are 16 times 32, in how many requests they may be asked for.",
            64: "That would be four times the bytes: a sector would be delivered for every two floats.",
        },
        answer=after.cost,
        picture=lambda: vector_width.picture_of(AT_ONCE, copy),
    )
