"""Block shapes compared: what each costs per request, in sectors or in tags, and what it reaches in GFLOPS."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
