"""Who multiplies what, and when? The SMs as lines of time, with the pieces of tiles that they work on."""
