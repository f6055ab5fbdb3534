"""Which blocks sit on one SM, and which part of C each of their warps computes."""
