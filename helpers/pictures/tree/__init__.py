"""The explorer of a tree in shared memory: block, order and step → who takes from whom, and at which banks."""
