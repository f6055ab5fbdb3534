"""The explorer of notebook 11: warp tile, thread tile and lane map → the three levels drawn together."""
