// How a warp's lanes lie in memory: widths, strides, records, indices.
#define EACH(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)

extern "C" __global__ void invert_bytes(const unsigned char *from, unsigned char *to, int n) {
    EACH(i, n) to[i] = 255 - from[i];
}

extern "C" __global__ void halve_shorts(const short *from, short *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] / 2;
}

extern "C" __global__ void axpy_double(const double *x, double *y, double a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void multiply_complex(const float2 *a, const float2 *b, float2 *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

extern "C" __global__ void scale_in_place(float *x, float a, int n) {
    EACH(i, n) x[i] *= a;
}

extern "C" __global__ void four_at_a_time(const float4 *from, float4 *to, int n) {
    const int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n) v[k] = from[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n) to[first + k * blockDim.x] = make_float4(v[k].w, v[k].z, v[k].y, v[k].x);
}

extern "C" __global__ void reverse(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[n - 1 - i] = from[i];
}

extern "C" __global__ void move_particles(float *particle, float step, int n) {  // records of x, y, z, vx, vy, vz
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 3; ++k) particle[6 * i + k] += step * particle[6 * i + 3 + k];
}

extern "C" __global__ void split_records(const float *xyz, float *x, float *y, float *z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = xyz[3 * i], y[i] = xyz[3 * i + 1], z[i] = xyz[3 * i + 2];
}

extern "C" __global__ void first_of_record(const float4 *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i].x;
}

extern "C" __global__ void grey(const unsigned char *rgb, unsigned char *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 151 + rgb[3 * i + 2] * 28) >> 8;
}

extern "C" __global__ void every_other_column(const float *from, float *to, int rows, int columns) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns / 2 && y < rows) to[y * (columns / 2) + x] = from[y * columns + 2 * x];
}

extern "C" __global__ void zero_column(float *matrix, int rows, int columns, int column) {
    EACH(i, rows) matrix[i * columns + column] = 0;
}

extern "C" __global__ void add_matrices(const float *a, const float *b, float *to, int rows, int columns) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) to[y * columns + x] = a[y * columns + x] + b[y * columns + x];
}

extern "C" __global__ void look_up(const int *keys, const float *table, float *to, int n, int entries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = table[keys[i] & (entries - 1)];
}

extern "C" __global__ void look_up_4(const int *keys, const float4 *table, float4 *to, int n, int entries) {
    EACH(i, n) to[i] = table[keys[i] & (entries - 1)];
}

extern "C" __global__ void embed(const int *keys, const float *table, float *to, int n, int entries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, word = i / 16;  // 16 floats a word
    if (word < n) to[i] = table[(keys[word] & (entries - 1)) * 16 + i % 16];
}

extern "C" __global__ void scatter_into(const int *keys, const float *from, float *to, int n, int entries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[keys[i] & (entries - 1)] = from[i];
}

extern "C" __global__ void scatter_4(const int *keys, const float4 *from, float4 *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[keys[i] & (n - 1)] = from[i];
}

extern "C" __global__ void add_at(const int *keys, const float *from, float *to, int n, int entries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&to[keys[i] & (entries - 1)], from[i]);
}

extern "C" __global__ void search_sorted(const float *sorted, const float *wanted, int *to, int n, int entries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = wanted[i];
    int low = 0;
    for (int step = entries / 2; step > 0; step /= 2)
        if (sorted[low + step] <= value) low += step;
    to[i] = low;
}

extern "C" __global__ void sparse_rows(const int *column, const float *value, const float *x, float *y, int rows, int each) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < each; ++k) sum += value[row * each + k] * x[column[row * each + k] & (rows - 1)];
    y[row] = sum;
}

extern "C" __global__ void sparse_columns(const int *column, const float *value, const float *x, float *y, int rows, int each) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;  // the k-th entries of all rows beside each other
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < each; ++k) sum += value[k * rows + row] * x[column[k * rows + row] & (rows - 1)];
    y[row] = sum;
}
