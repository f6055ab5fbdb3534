"""Strassen's algorithm at a size of the course: operations by levels, what they could save, and the error."""
