"""Random kernels that are right by construction, and the same with one fault, at every level and architecture."""
