// Problems: which product a block works at, and at which tile of it. One launch may compute one product, a batch of them
// at equal distances or behind pointers, or many of different shapes: only the way from a block's number to its problem
// differs.

// A vector or a matrix beside the product: element (row, col) of product number (inner, outer)
struct Beside {
    const void *first;
    long long row_step, col_step, batch_step, outer_step;   // elements
    double number;
    long long seed;
    int wide;   // whether four neighbours of a row start at a multiple of their size
    int unused;
};

struct Scale {
    const float *first;
    long long line_step, k_step;
};

template <class Format_, bool WIDE_> struct Target {
    typedef Format_ Format;
    typedef typename Format::Stored Stored;
    static constexpr bool WIDE = WIDE_;        // four neighbours of a row start at a multiple of their size
    Stored *first;
    long long row_step, col_step, batch_step, outer_step;   // elements
};

template <class PanelA, class PanelB, class Output> struct Problem {
    int M, N, K, inner;                        // inner: products along the inner axis of a batch with two axes
    PanelA A;
    PanelB B;
    Output C;
    Scale scale_A, scale_B;

    __device__ __forceinline__ void move(int batch) {
        const int i = batch % inner, o = batch / inner;
        A.move(i, o);
        B.move(i, o);
        C.first += i * C.batch_step + o * C.outer_step;
    }
};

template <class PanelA, class PanelB, class Output, int STEPS> struct Parameters {
    Problem<PanelA, PanelB, Output> problem;
    double alpha, beta;
    const void *list;                          // of what the problems differ in; how, says the batch
    const int *first_tiles;
    int count, tiles;                          // problems, and tiles of each
    Beside beside[STEPS ? STEPS : 1];
};

// Where a block's problem is among all: its number, and the row of C (of all problems) that its rows begin after
struct Place {
    int batch, first_row;
};

// Equal distances: a block's number is batch * tiles + tile
struct Batched {
    template <class Parameters, class Problem>
    static __device__ __forceinline__ bool find(const Parameters &p, Problem &problem, unsigned &tile, Place &place) {
        place = {int(tile / p.tiles), 0};
        tile %= p.tiles;
        problem.move(place.batch);
        return true;
    }
};

// Pointers to A, to B and to C, three for each problem
struct Pointed {
    template <class Parameters, class Problem>
    static __device__ __forceinline__ bool find(const Parameters &p, Problem &problem, unsigned &tile, Place &place) {
        place = {int(tile / p.tiles), 0};
        tile %= p.tiles;
        auto pointers = static_cast<const unsigned long long *>(p.list) + 3 * place.batch;
        problem.A.first = reinterpret_cast<decltype(problem.A.first)>(pointers[0]);
        problem.B.first = reinterpret_cast<decltype(problem.B.first)>(pointers[1]);
        problem.C.first = reinterpret_cast<decltype(problem.C.first)>(pointers[2]);
        return true;
    }
};

// Problems of different shapes. first_tiles[i] is the number of the first tile of problem i, so that a search by halves
// finds the last problem that does not begin after this block
struct Listed {
    template <class Parameters, class Problem>
    static __device__ __forceinline__ bool find(const Parameters &p, Problem &problem, unsigned &tile, Place &place) {
        int low = 0, high = p.count;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (p.first_tiles[middle] <= int(tile)) low = middle;
            else high = middle;
        }
        problem = static_cast<const Problem *>(p.list)[low];
        tile -= p.first_tiles[low];
        place = {low, 0};
        return true;
    }
};

// One matrix A whose rows belong to problems, each with a B of its own: problem i has the rows from offsets[i] to
// offsets[i + 1]. The offsets may have been computed on the GPU, so that the host knows no more than how many blocks are
// enough; those that are too many return
template <int BM, int BN> struct Ragged {
    template <class Parameters, class Problem>
    static __device__ __forceinline__ bool find(const Parameters &p, Problem &problem, unsigned &tile, Place &place) {
        auto offsets = static_cast<const int *>(p.list);
        const unsigned across = (problem.N + BN - 1) / BN;
        for (int i = 0; i < p.count; ++i) {
            const int rows = offsets[i + 1] - offsets[i];
            const unsigned tiles = (rows + BM - 1) / BM * across;
            if (tile < tiles) {
                problem.M = rows;
                problem.A.skip_lines(offsets[i]);
                problem.B.move(i, 0);
                problem.C.first += offsets[i] * problem.C.row_step;
                place = {i, offsets[i]};
                return true;
            }
            tile -= tiles;
        }
        return false;
    }
};
