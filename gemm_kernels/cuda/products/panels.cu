// Panels: A and B as a tile sees them. A panel has lines, which are the rows of A or the columns of B, and k runs along
// all of them. What op and the leading dimension change is only which step in memory belongs to which of the two.
// ALONG_K: neighbours in memory are neighbours in k, so that neighbouring lanes go along k; otherwise along lines.
// WIDTH: so many neighbours start at an address that one copy may use, and are inside the matrix together, or outside.

template <class Format_, bool ALONG_K_, int WIDTH_> struct Strided {
    typedef Format_ Format;
    typedef typename Format::Stored Stored;
    static constexpr bool ALONG_K = ALONG_K_;
    static constexpr int WIDTH = WIDTH_;
    const Stored *first;
    long long line_step, k_step, batch_step, outer_step;   // elements; of a batch with two axes the outer one is the second

    __device__ __forceinline__ void move(int inner, int outer) { first += inner * batch_step + outer * outer_step; }
    __device__ __forceinline__ void skip_lines(int lines) { first += lines * line_step; }
    // From (line, k) on, so many lines and k further each time. A pointer that grows costs two registers, and addresses
    // that are each computed from the panel would be kept in two for each copy of a tile
    struct Cursor {
        const Stored *from;
        long long step;
        __device__ __forceinline__ void next() { from += step; }
        __device__ __forceinline__ bool find(const Stored *&found) const {
            found = from;
            return true;
        }
    };
    __device__ __forceinline__ Cursor cursor(int line, int k, int lines, int steps) const {
        return {first + line * line_step + k * k_step, lines * line_step + steps * k_step};
    }
};

// An image (n, h, w, c) as the matrix of a convolution, which no memory holds: a line is an element (n, p, q) of the
// result, and k is (r, s, c), a place of the filter and a channel. What lies in the padding reads as 0.
template <class Format_, bool ALONG_K_, int WIDTH_> struct Image {
    typedef Format_ Format;
    typedef typename Format::Stored Stored;
    static constexpr bool ALONG_K = ALONG_K_;
    static constexpr int WIDTH = WIDTH_;
    const Stored *first;
    long long n_step, h_step, w_step, c_step;   // elements
    int H, W, C, P, Q, S, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;

    __device__ __forceinline__ void move(int, int) {}
    __device__ __forceinline__ void skip_lines(int) {}
    // From (line, k) on, so many lines further each time, with the same k. Divisions are slow: here they are made once, and
    // from line to line q and p carry into p and n
    struct Cursor {
        const Image &image;
        int n, p, q, n_more, p_more, q_more, r, s, c;
        __device__ __forceinline__ void next() {
            q += q_more;
            const int into_p = q >= image.Q;
            q -= into_p ? image.Q : 0;
            p += p_more + into_p;
            const int into_n = p >= image.P;
            p -= into_n ? image.P : 0;
            n += n_more + into_n;
        }
        __device__ __forceinline__ bool find(const Stored *&found) const {
            const int h = p * image.stride_h - image.pad_h + r * image.dilation_h;
            const int w = q * image.stride_w - image.pad_w + s * image.dilation_w;
            const bool inside = 0 <= h && h < image.H && 0 <= w && w < image.W;
            found = inside ? image.first + n * image.n_step + h * image.h_step + w * image.w_step + c * image.c_step : image.first;
            return inside;
        }
    };
    __device__ __forceinline__ Cursor cursor(int line, int k, int lines, int) const {
        const int row = line / Q, more = lines / Q, place = k / C;
        return {*this, row / P, row % P, line % Q, more / P, more % P, lines % Q, place / S, place % S, k % C};
    }
};

// Start the copy of BYTES bytes from global to shared memory, or of zeros where the matrix has no such elements
template <int BYTES> __device__ __forceinline__ void copy_async(void *shared, const void *global, bool valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = unsigned(__cvta_generic_to_shared(shared));
    if constexpr (BYTES == 16)   // cg: past the L1 cache, where no other thread of the SM looks for it
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(global), "r"(valid ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;"
                     : : "r"(to), "l"(global), "r"(valid ? BYTES : 0), "n"(BYTES) : "memory");
}

template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };

// Copy a tile of a panel to to[k][line], as sums are made of it: where the format in memory is another one, through
// registers. A warp takes 4 lines x 8 k of a panel along k (whole sectors), and 32 neighbours of one along lines
template <int THREADS, int BK, int LINES, int PITCH, class Panel, class Sum>
__device__ __forceinline__ void copy_by_k(Sum *to, const Panel &panel, int first_line, int lines, int first_k, int K) {
    typedef typename Panel::Stored Stored;
    constexpr int WIDTH = Panel::ALONG_K ? 1 : Panel::WIDTH;
    auto copy = [&](const auto &cursor, int line, int k) {
        const Stored *from;
        const bool valid = cursor.find(from) && first_line + line < lines && first_k + k < K;
        if constexpr (Same<Stored, Sum>::value) copy_async<WIDTH * sizeof(Sum)>(&to[k * PITCH + line], from, valid);
        else
            for (int i = 0; i < WIDTH; ++i) to[k * PITCH + line + i] = valid ? Panel::Format::read(from[i]) : Sum(0);
    };
    if constexpr (Panel::ALONG_K) {
        static_assert(BK % 8 == 0 && LINES % 4 == 0, "BK must be a multiple of 8, and BM and BN of 4");
        constexpr int WARPS = THREADS / 32, K_WARPS = WARPS % (BK / 8) == 0 ? BK / 8 : 1, STEP = WARPS / K_WARPS * 4;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        #pragma unroll
        for (int first = 0; first < BK; first += 8 * K_WARPS) {
            const int k = first + warp % K_WARPS * 8 + lane % 8, line = warp / K_WARPS * 4 + lane / 8;
            auto cursor = panel.cursor(first_line + line, first_k + k, STEP, 0);
            #pragma unroll
            for (int i = 0; i < (LINES + STEP - 1) / STEP; ++i, cursor.next())
                if (LINES % STEP == 0 || line + i * STEP < LINES) copy(cursor, line + i * STEP, k);
        }
    } else {
        constexpr int PIECES = LINES / WIDTH, ALONG = PIECES < THREADS ? PIECES : THREADS, STEP = THREADS / ALONG;
        static_assert(THREADS % ALONG == 0 && PIECES % ALONG == 0, "the threads must copy whole rows of a tile at a time");
        #pragma unroll
        for (int first = 0; first < PIECES; first += ALONG) {
            const int line = (first + threadIdx.x % ALONG) * WIDTH, k = threadIdx.x / ALONG;
            auto cursor = panel.cursor(first_line + line, first_k + k, 0, STEP);
            #pragma unroll
            for (int i = 0; i < (BK + STEP - 1) / STEP; ++i, cursor.next())
                if (BK % STEP == 0 || k + i * STEP < BK) copy(cursor, line, k + i * STEP);
        }
    }
}

// Copy a tile of a panel as it lies in memory, in chunks of 16 bytes: its rows are lines of a panel along k, and else k.
// place(row, chunk): at which byte of the tile a chunk of a row lies. Where fewer than four bytes start at an address that
// one copy may use, elements go through registers. part, of `parts`: only those copies
template <int THREADS, int BK, int LINES, class Panel, class Place>
__device__ __forceinline__ void copy_chunks(unsigned char *to, Place place, const Panel &panel, int first_line, int lines,
                                            int first_k, int K, int part, int parts) {
    typedef typename Panel::Stored Stored;
    constexpr int BYTES = sizeof(Stored), CHUNK = 16 / BYTES;   // elements of a chunk
    constexpr int PIECE = Panel::WIDTH * BYTES >= 4 ? Panel::WIDTH : 1;   // elements that one copy moves
    constexpr int CHUNKS = (Panel::ALONG_K ? BK : LINES) / CHUNK, TILE_ROWS = Panel::ALONG_K ? LINES : BK;
    constexpr int STEP = THREADS / CHUNKS, COPIES = (TILE_ROWS + STEP - 1) / STEP;
    constexpr int UNROLLED = PIECE * BYTES >= 4 ? COPIES : 1;   // single bytes would fill the instruction cache
    static_assert(THREADS % CHUNKS == 0, "the threads must copy whole rows of a tile at a time");
    const int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    constexpr int LINE_STEP = Panel::ALONG_K ? STEP : 0, K_STEP = Panel::ALONG_K ? 0 : STEP;
    int line = first_line + (Panel::ALONG_K ? row : chunk * CHUNK), k = first_k + (Panel::ALONG_K ? chunk * CHUNK : row);
    auto cursor = panel.cursor(line, k, LINE_STEP, K_STEP);
    #pragma unroll (UNROLLED)
    for (int i = 0; i < COPIES; ++i, cursor.next(), line += LINE_STEP, k += K_STEP) {
        if (i * parts / COPIES != part) continue;
        if (TILE_ROWS % STEP != 0 && row + i * STEP >= TILE_ROWS) break;
        unsigned char *const shared = to + place(row + i * STEP, chunk);
        unsigned words[4] = {};
        #pragma unroll
        for (int n = 0; n < CHUNK; n += PIECE) {
            const int l = line + (Panel::ALONG_K ? 0 : n), at = k + (Panel::ALONG_K ? n : 0);
            const Stored *from;
            bool valid = l < lines && at < K;
            if (PIECE == CHUNK) valid = cursor.find(from) && valid;
            else valid = panel.cursor(l, at, 0, 0).find(from) && valid;
            if constexpr (PIECE * BYTES >= 4) copy_async<PIECE * BYTES>(shared + n * BYTES, from, valid);
            else {
                const unsigned bits = valid ? unsigned(*from) & (BYTES == 1 ? 0xffu : 0xffffu) : 0u;
                words[n * BYTES / 4] |= bits << n * BYTES % 4 * 8;
            }
        }
        if constexpr (PIECE * BYTES < 4) *reinterpret_cast<uint4 *>(shared) = {words[0], words[1], words[2], words[3]};
    }
}
