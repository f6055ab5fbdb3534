"""The executor: memory, warps, barriers and copies."""
