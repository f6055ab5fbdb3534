#define WIDE 32   // columns of a block, and its threads along x
#define TALL 32   // threads of a block along y: they share the rows of a column

// sums[col] = A[0][col] + A[1][col] + ... : a block of 32 x 32 threads takes care of 32 columns.
extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {   // A: (M, N), sums: (N)
    // 1. Room for the parts of all threads, TALL of them for each column, and which column is mine.
    // <solution>
    __shared__ float parts[TALL][WIDE];   // (thread y, column)
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = blockIdx.x * WIDE + x;
    // <starter>
    // <one_column>
    __shared__ float parts[TALL][WIDE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = x;
    // <end>

    // 2. Add up every TALL-th row of my column, from row y on. A column beyond N has none.
    // <solution>
    float sum = 0;
    if (col < N)
        for (int row = y; row < M; row += TALL) sum += A[row * N + col];
    // <starter>
    // <all_rows>
    float sum = 0;
    if (col < N)
        for (int row = 0; row < M; ++row) sum += A[row * N + col];
    // <neighbouring_rows>
    float sum = 0;
    if (col < N)
        for (int row = y * (M / TALL); row < (y + 1) * (M / TALL); ++row) sum += A[row * N + col];
    // <no_edge>
    float sum = 0;
    for (int row = y; row < M; row += TALL) sum += A[row * N + col];
    // <step_by_width>
    float sum = 0;
    if (col < N)
        for (int row = y; row < M; row += TALL) sum += A[row * M + col];
    // <one_row_each>
    float sum = 0;
    if (col < N && y < M) sum = A[y * N + col];
    // <one_thread>
    float sum = 0;
    if (col < N && y == 0)
        for (int row = 0; row < M; ++row) sum += A[row * N + col];
    // <end>

    // 3. Put my part where the other threads can read it, and wait.
    // <solution>
    parts[y][x] = sum;
    __syncthreads();
    // <starter>
    // <no_barrier>
    parts[y][x] = sum;
    // <traded>
    parts[x][y] = sum;
    __syncthreads();
    // <end>

    // 4. One thread of each column adds the TALL parts in the order of y, and stores the sum.
    // <solution>
    if (y == 0 && col < N) {
        float total = 0;
        for (int part = 0; part < TALL; ++part) total += parts[part][x];
        sums[col] = total;
    }
    // <starter>
    // <own_part>
    if (col < N) sums[col] = sum;
    // <one_part_short>
    if (y == 0 && col < N) {
        float total = 0;
        for (int part = 1; part < TALL; ++part) total += parts[part][x];
        sums[col] = total;
    }
    // <end>
}
