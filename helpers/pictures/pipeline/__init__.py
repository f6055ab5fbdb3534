"""The explorer of notebook 10: stages and latencies → the pipeline's timeline, by the model."""
