"""A tile of C with the patches of its threads, and the two elements that each thread has found."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
