"""The two banks of registers: what FMAs read from them, a queue for each, and what is written to them, cycle by
cycle."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
