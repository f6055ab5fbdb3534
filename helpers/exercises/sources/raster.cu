#define T 8
#define GROUP 4   // rows of tiles that blocks take together

// A block computes a T x T tile of C. Blocks start in the order of their number; those that run at the same time share
// what they load, if their tiles lie close together. Give every block another tile than the one of its blockIdx.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    const int tiles_x = gridDim.x, tiles_y = gridDim.y;   // tiles of C along a row, and down a column
    int tile_x = blockIdx.x, tile_y = blockIdx.y;

    // 1. Blocks start row by row of the grid, along x first. Which number has this one: 0, 1, 2, ...?
    // 2. Which group of GROUP rows of tiles is it in, and which number has it inside the group?
    // 3. How many rows of tiles has this group? (The last group may have fewer than GROUP.)
    // 4. Inside a group, go down the first column of tiles, then down the next one. Set tile_y and tile_x.
    // <solution>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / (GROUP * tiles_x);
    const int in_group = number % (GROUP * tiles_x);
    const int left = tiles_y - group * GROUP;
    const int rows = left < GROUP ? left : GROUP;
    tile_y = group * GROUP + in_group % rows;
    tile_x = in_group / rows;
    // <starter>
    // <last_group>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / (GROUP * tiles_x);
    const int in_group = number % (GROUP * tiles_x);
    tile_y = group * GROUP + in_group % GROUP;
    tile_x = in_group / GROUP;
    // <whole_columns>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    tile_y = number % tiles_y;
    tile_x = number / tiles_y;
    // <along_rows>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / (GROUP * tiles_x);
    const int in_group = number % (GROUP * tiles_x);
    tile_y = group * GROUP + in_group / tiles_x;
    tile_x = in_group % tiles_x;
    // <group_of_blocks>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / GROUP;
    const int in_group = number % GROUP;
    tile_y = group * GROUP + in_group;
    tile_x = group;
    // <group_unscaled>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / (GROUP * tiles_x);
    const int in_group = number % (GROUP * tiles_x);
    const int left = tiles_y - group * GROUP;
    const int rows = left < GROUP ? left : GROUP;
    tile_y = group + in_group % rows;
    tile_x = in_group / rows;
    // <traded>
    const int number = blockIdx.y * tiles_x + blockIdx.x;
    const int group = number / (GROUP * tiles_x);
    const int in_group = number % (GROUP * tiles_x);
    const int left = tiles_y - group * GROUP;
    const int rows = left < GROUP ? left : GROUP;
    tile_x = group * GROUP + in_group % rows;
    tile_y = in_group / rows;
    // <end>

    const int row = tile_y * T + threadIdx.y, col = tile_x * T + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
