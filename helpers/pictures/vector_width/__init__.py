"""The explorer of notebook 09: width and leading dimension → the instructions, the requests and the sectors."""
