#define T 16

struct Image {                 // of images X: (images, H, W, C), channels last; of the result: (images, P, Q, N)
    const float *X;
    int H, W, C, P, Q, S;      // S: columns of a filter
    int stride, pad;

    // The element in row `row` and column `k` of a matrix that is nowhere in memory.
    __device__ float at(int row, int k) const {
        // 1. row is (image * P + p) * Q + q, and k is (r * S + s) * C + c: find all six.
        // 2. Filter row r lies r - pad rows below row p * stride of the image, and so do its columns.
        //    What lies outside the image is 0.
        // <solution>
        const int q = row % Q, p = row / Q % P, image = row / (Q * P);
        const int c = k % C, s = k / C % S, r = k / (C * S);
        const int h = p * stride + r - pad, w = q * stride + s - pad;
        if (h < 0 || h >= H || w < 0 || w >= W) return 0.0f;
        return X[((image * H + h) * W + w) * C + c];
        // <starter>
        return 0.0f;
        // <end>
    }
};

// Y = A * B, A: (M, K) as Image::at says, M = images * P * Q, K = R * S * C; B: (K, N), a filter in each column.
extern "C" __global__ void convolution(int M, int N, int K, const float *X, int H, int W, int C, int P, int Q,
                                       int S, int stride, int pad, const float *B, float *Y) {
    const Image A = {X, H, W, C, P, Q, S, stride, pad};
    __shared__ float As[T][T], Bs[T][T];   // A tile: (row, k); B tile: (k, col)

    // 3. The tiled multiplication, with A.at(row, k) in place of a load: load, wait, multiply, wait.
    // 4. Store the sum, if my element lies in Y.
    // <solution>
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + x < K) As[y][x] = A.at(row, k0 + x);
        Bs[y][x] = 0.0f;
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    if (row < M && col < N) Y[row * N + col] = sum;
    // <starter>
    // <end>
}
