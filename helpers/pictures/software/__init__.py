"""From one line of PyTorch down to the instructions of a thread: what stands between, and where the course is."""
