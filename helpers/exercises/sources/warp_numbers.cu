extern "C" __global__ void warp_numbers(int M, int N, float *W) {   // W: (M, N), row-major
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;

    // The warp's number inside the block
    // <starter>
    const int warp = threadIdx.x / 32;
    // <solution>
    const int thread = threadIdx.x + blockDim.x * threadIdx.y;
    const int warp = thread / 32;
    // <lanes>
    const int warp = (threadIdx.x + blockDim.x * threadIdx.y) % 32;
    // <threads>
    const int warp = threadIdx.x + blockDim.x * threadIdx.y;
    // <y_first>
    const int warp = (threadIdx.y + blockDim.y * threadIdx.x) / 32;
    // <rows_of_block_y>
    const int warp = (threadIdx.x + blockDim.y * threadIdx.y) / 32;
    // <rounded_up>
    const int warp = (threadIdx.x + blockDim.x * threadIdx.y + 31) / 32;
    // <whole_grid>
    const int block = blockIdx.x + gridDim.x * blockIdx.y;
    const int warp = (block * blockDim.x * blockDim.y + threadIdx.x + blockDim.x * threadIdx.y) / 32;
    // <x_and_y_added>
    const int warp = (threadIdx.x + threadIdx.y) / 32;
    // <width_times_x>
    const int warp = (blockDim.x * threadIdx.x + threadIdx.y) / 32;
    // <by_row>
    const int warp = (threadIdx.x + blockDim.x * threadIdx.y) / blockDim.x;
    // <end>
    W[row * N + col] = warp;
}
