"""In which order do the threads of a block line up? Each layer z of a block, with every thread's linear id and warp."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
