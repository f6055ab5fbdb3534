"""The explorer of notebook 15: a number, a bit to flip → what each format makes of it."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
