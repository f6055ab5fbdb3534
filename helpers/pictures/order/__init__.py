"""In which order does a warp load, store and read? The picture of the exercises about buffers and loads in flight."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
