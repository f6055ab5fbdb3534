// What came with Hopper, apart from clusters.
extern "C" __global__ void waits_for_grid(const int *x, int *y) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    y[threadIdx.x] = x[threadIdx.x] * 2;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
extern "C" __global__ void fences(const int *x, int *y) {
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("fence.proxy.async; fence.proxy.async.shared::cta; fence.acq_rel.cta; fence.sc.gpu;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void copies_in_bulk(const int *x, int *y) {
    __shared__ alignas(128) int s[256];
    __shared__ unsigned long long bar;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" :: "r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" :: "r"(to), "l"(x), "r"(at) : "memory");
    }
    __syncthreads();
    for (int done = 0; !done;)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(at) : "memory");
    y[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void copies_a_tile(const __grid_constant__ ulonglong2 map, int *y) {
    __shared__ alignas(128) int s[256];
    __shared__ unsigned long long bar;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(to), "l"(&map), "r"(0), "r"(0), "r"(at) : "memory");
    }
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}
