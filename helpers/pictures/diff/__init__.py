"""Two kernels of the ladder side by side: what is new in the code, and which counters it moved."""
