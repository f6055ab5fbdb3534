"""The explorer of notebook 10: stages and latencies → the pipeline's timeline, by the model."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
