"""The explorer of notebook 13: two parameters → where the good configurations are, and what the rules forbid."""
