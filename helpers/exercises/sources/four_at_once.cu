// Blocks of 128 threads; each block scales 512 floats.
extern "C" __global__ void scale(int N, float alpha, const float *x, float *y) {
    const int first = blockIdx.x * 512;
    // <starter>
    for (int i = first + threadIdx.x; i < first + 512; i += 128)
        if (i < N) y[i] = alpha * x[i];
    // <solution>
    const int i = first + 4 * threadIdx.x;
    if (i + 3 < N) {
        const float4 v = *reinterpret_cast<const float4 *>(&x[i]);
    // <beyond_the_end>
    const int i = first + 4 * threadIdx.x;
    if (i < N) {
        const float4 v = *reinterpret_cast<const float4 *>(&x[i]);
    // <next_float>
    const int i = first + threadIdx.x;
    if (i + 3 < N) {
        const float4 v = *reinterpret_cast<const float4 *>(&x[i]);
    // <counted_in_float4>
    const int i = first + 4 * threadIdx.x;
    if (i + 3 < N) {
        const float4 v = reinterpret_cast<const float4 *>(x)[i];
    // <end>
    // <starter>
    // <solution>
        *reinterpret_cast<float4 *>(&y[i]) = {alpha * v.x, alpha * v.y, alpha * v.z, alpha * v.w};
    // <one_component>
        *reinterpret_cast<float4 *>(&y[i]) = {alpha * v.x, alpha * v.x, alpha * v.x, alpha * v.x};
    // <end>
    // <starter>
    // <solution>
    } else {
        for (int j = i; j < N; ++j) y[j] = alpha * x[j];   // the last group is not whole
    }
    // <tail_dropped, beyond_the_end>
    }
    // <tail_not_scaled>
    } else {
        for (int j = i; j < N; ++j) y[j] = x[j];
    }
    // <end>
}
