"""The explorer of notebook 04: tile and phase → what is loaded, what is read, and the bytes from global memory."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
