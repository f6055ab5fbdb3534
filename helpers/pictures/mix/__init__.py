"""What does a kernel execute? A bar for each kernel, its instructions by pipe, per FMA of the product."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
