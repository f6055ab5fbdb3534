"""Where do the cycles go? One stacked bar per kernel: FMAs, other instructions, what is waited for, no warp."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
