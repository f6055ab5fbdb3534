"""The explorer of a scheduler, for notebook 05: warps, independent instructions, latency → who issues, and who
waits."""
