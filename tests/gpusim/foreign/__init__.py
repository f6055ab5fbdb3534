"""Kernels as books, samples and forums have them, each held to an answer that does not come from the simulator."""
