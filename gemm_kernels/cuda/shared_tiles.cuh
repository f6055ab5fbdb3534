// The same as scheduler.cuh, for blocks that add the parts of a tile together: each says which tiles are shared, and by whom.

// How many teams of threads add the parts of a tile: a power of two, at most so many and at most 32
__device__ __forceinline__ unsigned teams_of(unsigned most, unsigned worth) {
    const unsigned teams = min(min(most, worth), 32u);
    return teams < 2 ? 1 : 1u << (31 - __clz(teams));
}

// A counter as it is now
__device__ __forceinline__ unsigned fresh(unsigned &counter) { return *static_cast<volatile unsigned *>(&counter); }

// A part of a product that one block computes: the tile, and which of its rounds of BK
struct Work {
    unsigned tile, first, count;
};

// Deals out the work. Whole tiles go to the blocks in turns. Of the tiles that would make an incomplete last turn, and of a
// turn more if they are few, every block gets an equal share of all rounds, wherever in a tile it begins and ends: at the end
// of one, if every tile has equally many blocks
template <bool SHARES>
struct Scheduler {
    unsigned rounds, tiles;            // of a tile; of C
    unsigned share, more, sharers;     // rounds of a block's share; of so many blocks in so many it has one more
    unsigned next_round, end_round;    // of my share
    unsigned next_tile;                // of mine that are whole

    __device__ __forceinline__ Scheduler(unsigned tiles, unsigned rounds) : rounds(rounds), tiles(tiles) {
        const unsigned blocks = gridDim.x;
        unsigned shared_tiles = SHARES ? tiles % blocks : 0;
        if (0 < shared_tiles && 2 * shared_tiles < blocks && blocks < tiles) shared_tiles += blocks;
        const unsigned shared_rounds = shared_tiles * rounds;
        sharers = min(blocks, max(shared_rounds, 1));
        share = shared_rounds / sharers, more = shared_rounds % sharers;
        next_round = first_round(min(blockIdx.x, sharers)), end_round = first_round(min(blockIdx.x + 1, sharers));
        next_tile = shared_tiles + blockIdx.x;
    }

    // The first round of a block's share, counted through all shared tiles
    __device__ __forceinline__ unsigned first_round(unsigned block) const { return block * share + block * more / sharers; }

    // The block in whose share a round is: about where it would be with fractions of rounds
    __device__ __forceinline__ unsigned owner(unsigned round) const {
        unsigned block = float(round) / (share + float(more) / sharers);
        while (first_round(block) > round) --block;
        while (first_round(block + 1) <= round) ++block;
        return block;
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
        next_tile = SHARES ? next_tile + gridDim.x : tiles;
        return work.tile < tiles;
    }
};

// A tile that blocks share, as one of them sees it
struct Shared {
    unsigned sharers, first_part;      // blocks; the place of the first one's part
    unsigned row, col;                 // of C, where the tile begins
    unsigned teams;                    // of threads that add its parts
    unsigned turn;                     // blocks that had arrived before me
    unsigned begin, end;               // what I add: of the float4s of the tile
    unsigned stay;                     // blocks that wait until all have arrived
};
