"""The explorer of notebook 14: size and kernel → what each idea bought, beside cuBLAS and the peak."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
