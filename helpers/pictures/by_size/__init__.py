"""For which sizes does it help? How many times as fast as another kernel each kernel is, by size."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
