"""The explorer of a scheduler, for notebook 05: warps, independent instructions, latency → who issues, and who
waits."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
