"""The explorer of notebook 11: warp tile, thread tile and lane map → the three levels drawn together."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
