"""Where in memory does element (row, col) lie? One matrix in row-major and in column-major order, and its ribbon."""
