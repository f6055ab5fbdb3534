#define LANES_Y 8   // the lanes of a warp stand in 8 rows
#define LANES_X 4   // of 4

// One warp draws three maps of itself, side by side: every lane writes its number in the place where it stands. P has
// LANES_Y rows of 3 * LANES_X numbers. Columns 0 ... 3 are the first map, 4 ... 7 the second, 8 ... 11 the third.
extern "C" __global__ void three_maps(float *P) {
    const int lane = threadIdx.x;

    // 1. Row by row: lanes 0 to 3 stand in the first row, lanes 4 to 7 in the second. Which row and column are mine?
    // <solution>
    const int row = lane / LANES_X, col = lane % LANES_X;
    P[row * 3 * LANES_X + col] = lane;
    // <starter>
    // <rows_of_eight>
    const int row = lane / LANES_Y, col = lane % LANES_Y;
    P[row * 3 * LANES_X + col] = lane;
    // <row_and_column_traded>
    const int row = lane % LANES_X, col = lane / LANES_X;
    P[row * 3 * LANES_X + col] = lane;
    // <end>
    // 2. Column by column: lanes 0 to 7 stand in the first column, lanes 8 to 15 in the second.
    // <solution>
    const int down = lane % LANES_Y, across = lane / LANES_Y;
    P[down * 3 * LANES_X + LANES_X + across] = lane;
    // <starter>
    // <columns_of_four>
    const int down = lane % LANES_X, across = lane / LANES_X;
    P[down * 3 * LANES_X + LANES_X + across] = lane;
    // <over_the_first>
    const int down = lane % LANES_Y, across = lane / LANES_Y;
    P[down * 3 * LANES_X + across] = lane;
    // <end>
    // 3. Zigzag: lanes 0 and 1 stand side by side, lanes 2 and 3 below them, and so on down two columns. Lanes 16
    //    and 17 begin the next two columns at the top.
    // <solution>
    const int y = lane / 2 % LANES_Y, x = lane / 2 / LANES_Y * 2 + lane % 2;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <starter>
    // <pairs_below>
    const int y = lane / 2 / LANES_X * 2 + lane % 2, x = lane / 2 % LANES_X;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <pairs_in_one_place>
    const int y = lane / 2 % LANES_Y, x = lane / 2 / LANES_Y * 2;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <columns_not_doubled>
    const int y = lane / 2 % LANES_Y, x = lane / 2 / LANES_Y + lane % 2;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <lanes_for_pairs>
    const int y = lane % LANES_Y, x = lane / 2 / LANES_Y * 2 + lane % 2;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <by_columns_again>
    const int y = lane % LANES_Y, x = lane / LANES_Y;
    P[y * 3 * LANES_X + 2 * LANES_X + x] = lane;
    // <end>
}
