"""The explorer of notebook 01: rows and columns of a patch of C → the floats that feed it, and what memory allows."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
