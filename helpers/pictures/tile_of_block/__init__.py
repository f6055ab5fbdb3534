"""What a block of a multiplication computes: its tile of C, where the next block lies, and the steps of k it stages."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
