"""Arithmetic that a learner can check by hand: occupancy, the roofline, traffic and arithmetic intensity."""
