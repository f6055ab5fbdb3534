"""Who waits for whom, on a GPU and by the model: the stages of some iterations, a bar for each warp of a block."""
