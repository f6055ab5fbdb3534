// A block that stays on its SM takes an equal share of all the work: C has `tiles` tiles, each of them takes `steps`
// iterations of the main loop, and all iterations stand in one long row, tile after tile. A share may begin and end in
// the middle of a tile. `multiply` stands for the main loop: it notes, in the block's row of P, that the block's piece
// number n is a tile's iterations first ... last - 1.
extern "C" __global__ void shares(int tiles, int steps, int most, float *P) {   // P: (blocks, most, 3)
    const int block = blockIdx.x, blocks = gridDim.x;
    auto multiply = [&](int n, int tile, int first, int last) {
        float *piece = &P[(block * most + n) * 3];
        piece[0] = tile;
        piece[1] = first;
        piece[2] = last;
    };

    // 1. How many iterations are there in all? My share goes from block * total / blocks on, up to where the next
    //    block's share begins.
    // 2. As long as something of the share is left: in which tile is its next iteration, and which one of the tile's?
    // 3. The piece ends with the tile or with the share, whichever comes first. Multiply it, and go on behind it.
    // <solution>
    const int total = tiles * steps;
    int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    for (int n = 0; next < end; ++n) {
        const int tile = next / steps;
        const int first = next % steps;
        const int left = end - next;
        const int last = first + left < steps ? first + left : steps;
        multiply(n, tile, first, last);
        next += last - first;
    }
    // <starter>
    // <rounded_down>
    const int share = tiles * steps / blocks;
    int next = block * share;
    const int end = next + share;
    for (int n = 0; next < end; ++n) {
        const int tile = next / steps;
        const int first = next % steps;
        const int left = end - next;
        const int last = first + left < steps ? first + left : steps;
        multiply(n, tile, first, last);
        next += last - first;
    }
    // <whole_tiles>
    for (int n = 0; block + n * blocks < tiles; ++n)
        multiply(n, block + n * blocks, 0, steps);
    // <one_piece>
    const int total = tiles * steps;
    const int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    const int first = next % steps;
    if (next < end) multiply(0, next / steps, first, first + end - next < steps ? first + end - next : steps);
    // <tile_not_left>
    const int total = tiles * steps;
    int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    for (int n = 0; next < end; ++n) {
        const int tile = next / steps;
        const int first = next % steps;
        multiply(n, tile, first, steps);
        next += steps - first;
    }
    // <first_from_0>
    const int total = tiles * steps;
    int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    for (int n = 0; next < end; ++n) {
        const int tile = next / steps;
        const int first = next % steps;
        const int left = end - next;
        const int last = first + left < steps ? first + left : steps;
        multiply(n, tile, 0, last - first);
        next += last - first;
    }
    // <one_place>
    const int total = tiles * steps;
    int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    while (next < end) {
        const int tile = next / steps;
        const int first = next % steps;
        const int left = end - next;
        const int last = first + left < steps ? first + left : steps;
        multiply(0, tile, first, last);
        next += last - first;
    }
    // <last_as_length>
    const int total = tiles * steps;
    int next = block * total / blocks;
    const int end = (block + 1) * total / blocks;
    for (int n = 0; next < end; ++n) {
        const int tile = next / steps;
        const int first = next % steps;
        const int left = end - next;
        const int last = first + left < steps ? first + left : steps;
        multiply(n, tile, first, last - first);
        next += last - first;
    }
    // <end>
}
