"""The explorer of notebook 07: a kernel and one of its lines → which lane asks for which float, and what that costs."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
