"""What does a kernel execute? A bar for each kernel, its instructions by pipe, per FMA of the product."""
