"""The explorer of notebook 14: size, tile and order → which block takes which tile, and what those that run need."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
