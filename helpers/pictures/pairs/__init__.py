"""How the pairs move to the two smallest: the picture of notebook 17."""
