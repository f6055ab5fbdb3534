// Pack: copy a float32 matrix with any steps to one whose rows lie side by side. A tile of 32 x 32 passes through shared
// memory, so that reads go along the axis whose neighbours are neighbours in memory, and writes along rows.
// ALONG_ROWS: the source's neighbours are the elements of a column.

template <bool ALONG_ROWS>
__global__ void __launch_bounds__(256) pack(int rows, int cols, const float *from, long long row_step, long long col_step,
                                            float *to) {
    __shared__ float tile[32][33];   // (row, col); the pad puts the elements of a column into different banks
    const unsigned across = (cols + 31) / 32;
    const int first_row = blockIdx.x / across * 32, first_col = blockIdx.x % across * 32;
    #pragma unroll
    for (int y = threadIdx.y; y < 32; y += 8) {
        const int r = ALONG_ROWS ? threadIdx.x : y, c = ALONG_ROWS ? y : threadIdx.x;
        if (first_row + r < rows && first_col + c < cols)
            tile[r][c] = from[(first_row + r) * row_step + (first_col + c) * col_step];
    }
    __syncthreads();   // the tile is whole before any thread reads what others stored
    #pragma unroll
    for (int y = threadIdx.y; y < 32; y += 8)
        if (first_row + y < rows && first_col + threadIdx.x < cols)
            to[size_t(first_row + y) * cols + first_col + threadIdx.x] = tile[y][threadIdx.x];
}
