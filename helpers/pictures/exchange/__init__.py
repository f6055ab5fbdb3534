"""Who gives a value to whom, step by step? The pictures of notebook 16."""
