"""Who holds which element: the lanes that the simulator gave, one of them framed, or a learner's map beside them."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
