"""Static analysis of a kernel: its pointers, its arrays, and which source line an access comes from."""
