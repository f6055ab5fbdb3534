// An epilogue in a launch of its own, behind a product that the ladder's kernel has written: C becomes epilogue(C), in place.
// A thread has four neighbours of each of GROUPS rows, so that all its loads are on their way together.

template <class Output, int STEPS> struct Behind {
    int M, N;
    Output C;
    Beside beside[STEPS];
};

template <class Output, class... Steps>
__global__ void __launch_bounds__(256) behind(const __grid_constant__ Behind<Output, sizeof...(Steps)> p) {
    typedef typename Output::Format Format;
    typedef typename Format::Sum X;
    constexpr int GROUPS = 4;
    Sums<X, GROUPS> s;
    s.batch = 0;
    s.inner = 1;
    typename Output::Stored *to[GROUPS];
    const unsigned across = (p.N + 4 * blockDim.x - 1) / (4 * blockDim.x);   // blocks beside each other
    #pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        s.row[g] = (blockIdx.x / across * GROUPS + g) * blockDim.y + threadIdx.y;
        s.col[g] = 4 * (blockIdx.x % across * blockDim.x + threadIdx.x);
        s.valid[g] = s.row[g] < p.M ? p.N - s.col[g] : 0;   // no thread returns: a step may be one of whole warps
        to[g] = p.C.first + s.row[g] * p.C.row_step + s.col[g];
        read4<Format>(s.x[g], to[g], 1, s.valid[g], Output::WIDE);
    }
    int step = 0;
    (Steps::apply(s, p.beside[step++]), ...);
    #pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        typename Output::Stored x[4];
        for (int n = 0; n < 4; ++n) x[n] = Format::write(s.x[g][n]);
        write4(to[g], x, 1, s.valid[g], Output::WIDE);
    }
}
