"""The explorer of notebook 06: tile sizes → who computes what, step by step, loads per FMA, registers, GFLOPS."""
