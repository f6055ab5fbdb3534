"""Which thread copies which element into which stage? A row of tiles of a matrix, and the stages below them."""
