"""The explorer of notebook 00: blocks, threads and elements of a one-dimensional launch → who writes what."""
