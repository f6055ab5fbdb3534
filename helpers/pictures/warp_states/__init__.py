"""What do the warps of a scheduler wait for? A row per warp, a column per clock cycle, and below what is issued."""
