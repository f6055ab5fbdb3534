"""The explorer of notebook 06: tile sizes → who computes what, step by step, loads per FMA, registers, GFLOPS."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
