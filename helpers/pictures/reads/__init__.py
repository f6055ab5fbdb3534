"""Which warp reads which elements? The map of threads of notebook 16."""
