// Which tile, or which part of one, a block multiplies next. WORKERS blocks ask it again and again.

// A part of a product that one block computes: the tile, and which of its rounds of BK
struct Work {
    unsigned tile, first, count;
};

// Deals out the work. Whole tiles go to the blocks in turns. Of the tiles that would make an incomplete last turn, and of a
// turn more if they are few, every block gets an equal share of all rounds, wherever in a tile it begins and ends
template <bool SHARES>
struct Scheduler {
    unsigned rounds, tiles, blocks;   // of a tile; of C; of the launch
    unsigned share, larger;           // rounds of a block's share; so many of the first blocks have one more
    unsigned next_round, end_round;   // of my share
    unsigned next_tile;               // of mine that are whole

    __device__ __forceinline__ Scheduler(unsigned tiles, unsigned rounds)
        : rounds(rounds), tiles(tiles), blocks(gridDim.x) {
        unsigned shared_tiles = SHARES ? tiles % blocks : 0;
        if (0 < shared_tiles && 2 * shared_tiles < blocks && blocks < tiles) shared_tiles += blocks;
        const unsigned shared_rounds = shared_tiles * rounds, sharers = min(blocks, max(shared_rounds, 1));
        share = shared_rounds / sharers, larger = shared_rounds % sharers;
        next_round = first_round(min(blockIdx.x, sharers)), end_round = first_round(min(blockIdx.x + 1, sharers));
        next_tile = shared_tiles + blockIdx.x;
    }

    // The first round of a block's share, counted through all shared tiles
    __device__ __forceinline__ unsigned first_round(unsigned block) const { return block * share + min(block, larger); }

    // The block in whose share a round is
    __device__ __forceinline__ unsigned owner(unsigned round) const {
        return round < larger * (share + 1) ? round / (share + 1) : larger + (round - larger * (share + 1)) / share;
    }

    // Whether there is more to do for this block, and what
    __device__ __forceinline__ bool next(Work &work) {
        if (SHARES && next_round < end_round) {
            work.tile = next_round / rounds, work.first = next_round % rounds;
            work.count = min(rounds - work.first, end_round - next_round);
            next_round += work.count;
            return true;
        }
        work.tile = next_tile, work.first = 0, work.count = rounds;
        next_tile = SHARES ? next_tile + blocks : tiles;
        return work.tile < tiles;
    }
};

// How many of so many parts are added at a time: all, if they are few, or about as many as there are groups then
__device__ __forceinline__ unsigned parts_of_a_group(unsigned parts, unsigned few) {
    return parts <= few ? parts : 1u << (33 - __clz(parts - 1)) / 2;
}
