"""The explorer of notebook 14: size, tile and order → which block takes which tile, and what those that run need."""
