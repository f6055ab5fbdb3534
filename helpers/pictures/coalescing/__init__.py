"""The explorer of notebook 03: block shape, axis order and matrix width → the sectors of one warp."""
