"""What GPUs have and what a launch may ask of them, as a table."""
