"""Eight bits and a scale: which numbers there are, and the error of a product by granularity of its scales."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
