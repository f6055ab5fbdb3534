"""Where in memory does element (row, col) lie? One matrix in row-major and in column-major order, and its ribbon."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
