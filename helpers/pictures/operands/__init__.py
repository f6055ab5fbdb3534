"""A block's tile in A, B and C as they lie in memory: op, gaps between rows, a batch, an epilogue, and its bytes."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
