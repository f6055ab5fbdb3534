"""The explorer of notebook 15: GPU and size → the roof of every precision, and who comes how near to it."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
