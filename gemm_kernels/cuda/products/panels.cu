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
    __device__ __forceinline__ bool find(int line, int k, const Stored *&from) const {
        from = first + line * line_step + k * k_step;
        return true;
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
    __device__ __forceinline__ bool find(int line, int k, const Stored *&from) const {
        const int c = k % C, s = k / C % S, r = k / C / S;
        const int q = line % Q, p = line / Q % P, n = line / Q / P;
        const int h = p * stride_h - pad_h + r * dilation_h, w = q * stride_w - pad_w + s * dilation_w;
        const bool inside = 0 <= h && h < H && 0 <= w && w < W;
        from = inside ? first + n * n_step + h * h_step + w * w_step + c * c_step : first;
        return inside;
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
    auto copy = [&](int k, int line) {
        const Stored *from;
        const bool valid = panel.find(first_line + line, first_k + k, from) && first_line + line < lines && first_k + k < K;
        if constexpr (Same<Stored, Sum>::value) copy_async<WIDTH * sizeof(Sum)>(&to[k * PITCH + line], from, valid);
        else
            for (int i = 0; i < WIDTH; ++i) to[k * PITCH + line + i] = valid ? Panel::Format::read(from[i]) : Sum(0);
    };
    if constexpr (Panel::ALONG_K) {
        constexpr int PATCHES = LINES / 4 * (BK / 8);   // of 4 lines x 8 k
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        static_assert(BK % 8 == 0 && LINES % 4 == 0, "BK must be a multiple of 8, and BM and BN of 4");
        #pragma unroll
        for (int first = 0; first < PATCHES; first += THREADS / 32) {
            const int patch = first + warp;
            if (PATCHES % (THREADS / 32) == 0 || patch < PATCHES)
                copy(patch % (BK / 8) * 8 + lane % 8, patch / (BK / 8) * 4 + lane / 8);
        }
    } else {
        constexpr int PIECES = BK * LINES / WIDTH;
        #pragma unroll
        for (int first = 0; first < PIECES; first += THREADS) {
            const int piece = first + threadIdx.x;
            if (PIECES % THREADS == 0 || piece < PIECES) copy(piece / (LINES / WIDTH), piece % (LINES / WIDTH) * WIDTH);
        }
    }
}
