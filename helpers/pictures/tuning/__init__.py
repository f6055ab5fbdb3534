"""The explorer of notebook 13: two parameters → where the good configurations are, and what the rules forbid."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
