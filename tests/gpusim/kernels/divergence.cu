// Warps that fall apart: which threads run together decides how many instructions and requests there are.

extern "C" __global__ void nested_loops(const int *a, const int *b, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int outer = 0; outer < a[i] % 7; ++outer) {
        for (int inner = 0; inner < b[i] % 5; ++inner) {
            sum += a[(i + inner) % n] * (outer + 1);
            if (sum % 13 == 5) break;
            if (sum % 11 == 3) continue;
            sum ^= b[(i + outer) % n];
        }
        if (sum > 5000) break;
    }
    out[i] = sum;
}

extern "C" __global__ void early_return(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int round = 0; round < 12; ++round) {
        const int value = a[(i * 7 + round) % n];
        if (value % 17 == round) {
            out[i] = value;
            return;
        }
        if (value % 5 == 0 && round > 6) break;
    }
    out[i] = a[i] % 3 == 0 ? -1 : a[(i + 1) % n];
}

// No structured code: two loops share a tail
extern "C" __global__ void unstructured(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = a[i], rounds = 0;
start:
    if (value & 1) goto odd;
    value = value / 2 + a[(i + rounds) % n] % 9;
    if (rounds > 9) goto end;
tail:
    ++rounds;
    if (rounds < 20) goto start;
    goto end;
odd:
    value = value * 3 + 1;
    if (value % 7 == 0) goto end;
    if (rounds < 15) goto tail;
end:
    out[i] = value + 1000 * rounds;
}

__device__ __noinline__ int worker(const int *a, int at, int n) {
    int sum = 0;
    for (int k = 0; k < a[at] % 6; ++k) sum += a[(at + k) % n];
    return sum;
}

// A function called from both sides of a branch
extern "C" __global__ void calls(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    if (a[i] % 3 == 0) sum = worker(a, i, n) * 2;
    else if (a[i] % 3 == 1) sum = worker(a, n - 1 - i, n) + 5;
    out[i] = sum + worker(a, (i * 5) % n, n);
}

// Halves of a warp meet apart from each other, then all together
extern "C" __global__ void split_warps(const int *a, int *out, int n) {
    __shared__ int tile[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    tile[threadIdx.x] = a[i % n];
    __syncwarp();
    int value = 0;
    if (lane < 16) {
        value = tile[threadIdx.x ^ 1];
        for (int k = 0; k < value % 4; ++k) value += tile[threadIdx.x ^ 3] % 10;
        __syncwarp(0x0000ffff);
        tile[threadIdx.x] = value;
    } else {
        value = tile[threadIdx.x ^ 2] * 2;
        __syncwarp(0xffff0000);
        tile[threadIdx.x] = value + lane;
    }
    __syncwarp();
    value += tile[threadIdx.x ^ 31];
    __syncthreads();
    value += tile[127 - threadIdx.x];
    if (i < n) out[i] = value;
}

// Conditions with side loads, and stores on both sides
extern "C" __global__ void conditions(const int *a, const int *b, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i];
    if ((x > 100 && b[i] < 0) || (x < -100 && b[(i + 3) % n] > 50) || a[(i * 3) % n] == 7) {
        out[2 * i] = x;
        if (b[i] & 4) out[2 * i + 1] = b[i];
    } else if (x % 2 == 0) {
        out[2 * i] = -x;
        for (int k = 0; k < (x & 3); ++k) out[2 * i + 1] += b[(i + k) % n];
    } else {
        out[2 * i + 1] = x / (1 + (b[i] & 7));
    }
}

// A switch with many cases: a jump table
extern "C" __global__ void jump_table(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = a[i];
    switch (value & 15) {
        case 0: value = a[(i + 1) % n]; break;
        case 1: value = value * value; break;
        case 2: value = __popc(value); break;
        case 3: value = a[(i + 9) % n] - 4; break;
        case 4: value = atomicAdd(&out[n], value) * 0 + 3; break;
        case 5: out[i] = 3; value = 9; break;
        case 6: value = value % 5; break;
        case 7: value = __clz(value); break;
        case 8: value = value << 3; break;
        case 9: value = (value >> 3) * 77; break;
        case 10: value = min(value, 50); break;
        case 11: value = value / 9 + a[i / 2]; break;
        default: value = -1;
    }
    out[i] = value;
}

// The lanes that are still here elect a leader; integers, so that the order does not show
extern "C" __global__ void elections(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 5; ++round) {
        if (i < n && a[(i + round) % n] % (round + 2) == 0) atomicAdd(&out[round], 1);
    }
    const unsigned equal = __match_any_sync(0xffffffffu, i < n ? a[i] % 4 : -1);
    atomicAdd(&out[5], __popc(equal));
}
