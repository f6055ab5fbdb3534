"""Which thread copies which element into which stage? A row of tiles of a matrix, and the stages below them."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
