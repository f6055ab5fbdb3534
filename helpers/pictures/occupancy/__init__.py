"""The explorer of notebook 05: GPU, threads, registers, shared bytes → how many blocks an SM holds, and why no more."""
