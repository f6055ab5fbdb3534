"""The prediction of notebook 07: wavefronts of the store of a transposed tile."""

from __future__ import annotations

from gemm_kernels import get
from helpers.exercises.framework.predict import Prediction, predict
from helpers.explore import bank_board


def predict_store() -> Prediction:
    """Wavefronts that a warp's store to the transposed A tile takes. The answer comes from a recording."""
    staged = bank_board.Staged.of(get("transposed"))
    found = bank_board.places(staged)
    store = next(place for place in found if place.name == "store to As")
    return predict(
        "Wavefronts for one store of a warp to the transposed A tile:",
        reasons={
            1: "That needs all 32 words to lie in different banks. In which banks do the 8 rows of As begin?",
            4: "That is the number of neighbouring floats in each row of As. They lie in neighbouring banks.",
            8: "All rows begin in bank 0, because 128 is a multiple of 32: each of four banks has 8 words to store.",
            32: "That needs all words to lie in one bank, but the four floats of a row lie in four banks.",
        },
        answer=found[store][0].wavefronts,
        picture=lambda: bank_board.picture_of(staged, store),
    )
