"""Multiplications on this machine's CPU: timed as they stand, and by the loop that is innermost."""
