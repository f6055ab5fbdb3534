"""The source of a kernel with its costs, line by line: which line costs?"""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
