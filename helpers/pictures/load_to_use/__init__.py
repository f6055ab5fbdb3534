"""How far a kernel's machine code stands between a load from shared memory and the first use of what it brings."""
