"""What GPUs have and what a launch may ask of them, as a table."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
