"""The explorer of notebook 08: stride, padding, width, swizzle, or a line of a kernel → lanes and banks, wavefronts."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
