"""The explorer of notebook 09: width and leading dimension → the instructions, the requests and the sectors."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
