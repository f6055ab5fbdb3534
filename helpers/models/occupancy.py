"""How many blocks fit on one SM, for whoever compares models: the rule itself is in `helpers.occupancy`.

It lies below the simulator, which reports the limits of a launch among its counters.
"""

from helpers.occupancy import DoesNotFit, Occupancy, occupancy

__all__ = ["DoesNotFit", "Occupancy", "occupancy"]
