"""Who waits for whom, on a GPU and by the model: the stages of some iterations, a bar for each warp of a block."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
