"""The explorer of notebook 14: size and kernel → what each idea bought, beside cuBLAS and the peak."""
