"""The explorer of notebook 02: block and grid → which thread computes which element of C, and which warp it is in."""
