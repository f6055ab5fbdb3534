"""Which warp reads which elements? The map of threads of notebook 16."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
