// Four matrices of 8 x 8 elements of 16 bits: stored to shared memory, loaded again and transposed in registers

template <int TRANSPOSED>
__global__ void matrices(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned tile[128];
    const unsigned row = (unsigned)__cvta_generic_to_shared(tile) + threadIdx.x % 32 * 16;
    unsigned r[4];
    for (int i = 0; i < 4; ++i) r[i] = in[i * 32 + threadIdx.x];
    if (TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = tile[i * 32 + threadIdx.x];
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
    for (int i = 0; i < 4; ++i) {
        unsigned turned;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(r[i]));
        out[128 + i * 32 + threadIdx.x] = r[i];
        out[256 + i * 32 + threadIdx.x] = turned;
    }
}
