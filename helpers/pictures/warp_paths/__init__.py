"""A branch as time: the instructions that a warp issues one after the other, and which of its lanes take part."""
