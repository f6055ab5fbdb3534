"""How much of its warps does a block fill? A row for each block size, its lanes in warps of 32, idle ones hatched."""
