"""Strassen's algorithm at a size of the course: operations by levels, what they could save, and the error."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
