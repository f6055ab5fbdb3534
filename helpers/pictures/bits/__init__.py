"""The explorer of notebook 15: a number, a bit to flip → what each format makes of it."""
