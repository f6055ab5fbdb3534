"""The explorer of notebook 05: GPU, threads, registers, shared bytes → how many blocks an SM holds, and why no more."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
