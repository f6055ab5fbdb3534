"""In which order does a warp load, store and read? The picture of the exercises about buffers and loads in flight."""
