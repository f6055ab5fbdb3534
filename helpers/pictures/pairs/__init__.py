"""How the pairs move to the two smallest: the picture of notebook 17."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
