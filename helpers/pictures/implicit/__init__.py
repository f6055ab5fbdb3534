"""A convolution as a product: the matrix that is nowhere, and where in the image a warp finds its elements."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
