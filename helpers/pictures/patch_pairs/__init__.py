"""A tile of C with the patches of its threads, and the two elements that each thread has found."""
