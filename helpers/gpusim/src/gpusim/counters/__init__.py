"""Nsight Compute's counters of what was executed, by launch, line and request."""
