"""Who gives a value to whom, step by step? The pictures of notebook 16."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
