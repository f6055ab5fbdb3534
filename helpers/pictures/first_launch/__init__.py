"""The explorer of notebook 00: blocks, threads and elements of a one-dimensional launch → who writes what."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
