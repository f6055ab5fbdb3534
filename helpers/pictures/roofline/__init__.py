"""The explorer of notebooks 01 and 14: GPU, M, N, K → the roof, and where each kernel stands under it."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
