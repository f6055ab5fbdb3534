"""Functions that are not inlined, at the level of PTX: what they compute is what the machine code computes."""

import time

import numpy as np
import pytest

import gpusim
from gpusim import errors

BLOCKS, THREADS = 3, 70
SEED = 15

# By what is special about them: the functions, and the body of a kernel that has int *o, double *d and int i.
PROGRAMS = {
    "a function with values of several types": (
        """__device__ __noinline__
        float mixed(char c, short s, long long l, float f, double d, bool b, unsigned char u) {
            return b ? c + s * f : (float)(l * d) - u;
        }""",
        "d[i] = mixed(o[i], o[i] >> 3, o[i] * 77777LL, d[i], d[i] * d[i], o[i] & 1, o[i]);",
    ),
    "structures passed and returned": (
        """struct Item { char tag; int a[5]; double d; short last; };
        __device__ __noinline__ Item turn(Item x, int by) {
            Item y;
            y.tag = x.tag + 1; y.d = -x.d; y.last = x.last ^ by;
            for (int j = 0; j < 5; ++j) y.a[j] = x.a[(j + by) % 5];
            return y;
        }""",
        """Item x; x.tag = i; x.d = d[i]; x.last = o[i];
        for (int j = 0; j < 5; ++j) x.a[j] = o[i] + j;
        Item y = turn(turn(x, i % 5), 2);
        o[i] = y.tag + y.last + y.a[0] + 3 * y.a[4]; d[i] = y.d;""",
    ),
    "a function called by some threads, from several places": (
        "__device__ __noinline__ int square(int x) { int s = 0; for (int j = 0; j < (x & 7); ++j) s += x; return s; }",
        """int r = 0;
        if (o[i] & 1) r = square(o[i]);
        for (int j = 0; j < (i & 3); ++j) r += square(o[i] >> j);
        if (o[i] & 2) return;
        o[i] = r - square(i);""",
    ),
    "functions that call functions": (
        """__device__ __noinline__ int inner(int x, int *p) { *p += x; return x ^ *p; }
        __device__ __noinline__ int middle(int x, int *p) {
            int own = x, r = inner(x, p) + inner(1, &own);
            return r - own;
        }
        __device__ __noinline__ int outer(int x) { int sum = 3; return middle(x, &sum) * inner(2, &sum) + sum; }""",
        "o[i] = outer(o[i]) + outer(i);",
    ),
    "recursion of another depth in each thread": (
        "__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }",
        "o[i] = fibonacci((o[i] & 7) + 2);",
    ),
    "recursion inside of arguments": (
        """__device__ __noinline__ int ackermann(int m, int n) {
            return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
        }""",
        "o[i] = ackermann(o[i] & 1, (o[i] >> 1) & 7);",
    ),
    "functions that call each other": (
        """__device__ int odd(int n, double *d);
        __device__ __noinline__ int even(int n, double *d) { *d += 0.5; return n == 0 ? 1 : odd(n - 1, d) * 3; }
        __device__ __noinline__ int odd(int n, double *d) { *d *= 2; return n == 0 ? 0 : even(n - 1, d) + n; }""",
        "double x = d[i]; o[i] = even(o[i] & 15, &x); d[i] = x;",
    ),
    "arrays of every activation": (
        """__device__ __noinline__ int spread(int n, int seed) {
            int own[4];
            for (int j = 0; j < 4; ++j) own[j] = seed + j;
            int below = n > 0 ? spread(n - 1, own[n & 3] * 5) : 0;
            return below + own[(seed ^ n) & 3];
        }""",
        "o[i] = spread(o[i] & 7, i);",
    ),
    "a sort that calls itself twice": (
        """__device__ __noinline__ void sort(int *x, int low, int high) {
            if (low >= high) return;
            int middle = x[(low + high) / 2], a = low, b = high;
            while (a <= b) {
                while (x[a] < middle) ++a;
                while (x[b] > middle) --b;
                if (a <= b) { int t = x[a]; x[a++] = x[b]; x[b--] = t; }
            }
            sort(x, low, b); sort(x, a, high);
        }""",
        "if (i % 10 == 0) sort(o + i, 0, 9);",
    ),
    "a pointer to a function": (
        """__device__ __noinline__ int plus(int x) { return x + 1; }
        __device__ __noinline__ int times(int x) { return x * 2; }
        __device__ __noinline__ int twice(int (*f)(int), int x) { return f(f(x)); }""",
        "o[i] = twice(o[i] & 1 ? plus : times, o[i]) + (o[i] & 2 ? times : plus)(i);",
    ),
    "a table of functions": (
        """typedef double (*Function)(double);
        __device__ double half(double x) { return x / 2; }
        __device__ double next(double x) { return x + 1; }
        __device__ double root(double x) { return sqrt(x * x); }
        __device__ Function table[3] = {half, next, root};
        __constant__ Function fixed[2] = {root, next};""",
        "d[i] = table[unsigned(o[i]) % 3](d[i]) + fixed[i & 1](d[i]);",
    ),
    "recursion through a table": (
        """typedef int (*Function)(int);
        __device__ int down(int);
        __device__ int up(int);
        __device__ Function table[2] = {down, up};
        __device__ int down(int n) { return n <= 0 ? 1 : table[n & 1](n - 1) + n; }
        __device__ int up(int n) { return n <= 0 ? 2 : 3 * table[(n >> 1) & 1](n - 2); }""",
        "o[i] = table[i & 1](o[i] & 15);",
    ),
    "virtual functions": (
        """struct Shape {
            double size;
            __device__ Shape(double s) : size(s) {}
            __device__ virtual double area() { return size; }
            __device__ virtual int corners(int k) { return k; }
        };
        struct Square : Shape {
            __device__ Square(double s) : Shape(s) {}
            __device__ double area() { return size * size; }
            __device__ int corners(int k) { return 4 * k; }
        };
        struct Circle : Shape {
            __device__ Circle(double s) : Shape(s) {}
            __device__ double area() { return 3 * size * size; }
        };""",
        """Square s(d[i]); Circle c(d[i]); Shape p(d[i]);
        Shape *one = o[i] % 3 == 0 ? (Shape *)&s : o[i] % 3 == 1 ? (Shape *)&c : &p;
        d[i] = one->area(); o[i] = one->corners(i);""",
    ),
    "malloc and free": (
        """__device__ __noinline__ int *fill(int n) {
            int *p = (int *)malloc(4 * n);
            for (int j = 0; j < n; ++j) p[j] = j * n;
            return p;
        }""",
        """if (o[i] & 1) { int *p = fill(1 + (i & 7)); o[i] = p[i & 7]; free(p); }
        else o[i] = malloc(1 << 30) == nullptr;""",
    ),
    "new and virtual destructors": (
        """struct Node { int value; Node *next; __device__ Node(int v, Node *n) : value(v), next(n) {}
            __device__ virtual ~Node() { delete next; } };""",
        """Node *list = nullptr;
        for (int j = 0; j < (i & 7); ++j) list = new Node(o[i] + j, list);
        int sum = 0;
        for (Node *n = list; n; n = n->next) sum = sum * 3 + n->value;
        delete list; o[i] = sum;""",
    ),
    "shared memory and barriers in a function": (
        """__device__ __noinline__ int exchanged(int x) {
            __shared__ int s[THREADS];
            __syncthreads(); s[threadIdx.x] = x; __syncthreads();
            return s[THREADS - 1 - threadIdx.x] - s[0];
        }""",
        "__shared__ int mine[4]; mine[i & 3] = i & 3; int a = exchanged(o[i]); o[i] = exchanged(a) + mine[2 & i];",
    ),
    "lanes that exchange values in a function": (
        """__device__ __noinline__ int sum(int x) {
            for (int s = 16; s; s /= 2) x += __shfl_xor_sync(~0u, x, s);
            return x;
        }""",
        "if (threadIdx.x < 64) { int y = 0; if (o[i] & 1) y = o[i]; o[i] = sum(y) + sum(i); }",
    ),
    "functions of double that the compiler keeps apart": (
        "",
        """double x = fabs(d[i]) + 0.25;
        d[i] = pow(x, d[i]) + sin(x * 1e9) * cos(x * 3e7) + tan(x * 2e6) + pow(-x, 3.0);""",
    ),
    "predicates and halves that outlive a recursion": (
        """#include <cuda_fp16.h>
        __device__ __noinline__ float walk(int n, __half h, bool p) {
            __half g = __hadd(h, h); bool q = (n & 1) != p;
            float below = n > 0 ? walk(n - 1, __hmul(h, __float2half(0.5f)), q) : 0.0f;
            return below + (q ? __half2float(g) : n * 0.25f);
        }""",
        "d[i] = walk(o[i] & 7, __float2half(i), o[i] & 8);",
    ),
    "a function that ends the thread": (
        '__device__ __noinline__ int stop(int x) { if (x & 4) asm volatile("exit;"); return x + 1; }',
        "o[i] = 7; o[i] = stop(i);",
    ),
}


def run(functions: str, body: str, level: str) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel leaves in its two arrays."""
    rng = np.random.default_rng(SEED)
    o = rng.integers(0, 1000, BLOCKS * THREADS).astype(np.int32)
    d = rng.normal(0, 3, BLOCKS * THREADS)
    source = f"""#define THREADS {THREADS}
    {functions}
    extern "C" __global__ void k(int *o, double *d) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}"""
    with gpusim.record(level=level):
        gpusim.RawModule(code=source).get_function("k")((BLOCKS,), (THREADS,), (o, d))
    return o, d


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_calls_give_in_ptx_what_machine_code_gives(program):
    ptx, sass, untouched = run(*program, "ptx"), run(*program, "sass"), run("", "", "sass")
    for mine, theirs in zip(ptx, sass, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert any((mine != before).any() for mine, before in zip(ptx, untouched, strict=True))


def at_ptx_level(source: str, *arguments, threads: int = 1) -> None:
    with gpusim.record(level="ptx"):
        gpusim.RawModule(code=source).get_function("k")((1,), (threads,), arguments)


@pytest.mark.parametrize("threads", (1, 256))
def test_a_recursion_without_end_is_named_in_less_than_a_second(threads):
    source = """
    __device__ int deeper(int n) { return n < 0 ? 0 : 1 + deeper(n + 1) * n; }
    extern "C" __global__ void k(int *out) { out[threadIdx.x] = deeper(threadIdx.x); }"""
    start = time.process_time()
    with pytest.raises(
        errors.OutOfBounds, match="4096 bytes of local memory.*\n.*line 2(.|\n)*does that end"
    ) as caught:
        at_ptx_level(source, np.zeros(threads, np.int32), threads=threads)
    assert (caught.value.line, caught.value.thread) == (2, (0, 0, 0))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("checks", [True, False])
def test_a_pointer_to_no_function_is_named_with_its_thread(checks, level):
    source = """typedef int (*Function)(int);
    __device__ int one(int x) { return x; }
    __device__ Function table[4] = {one, one, one};
    extern "C" __global__ void k(int *out) {
        out[threadIdx.x] = table[threadIdx.x](1);
    }"""
    with (
        gpusim.record(level=level, checks=checks),
        pytest.raises(errors.OutOfBounds, match="through a pointer that holds 0x0") as caught,
    ):
        gpusim.RawModule(code=source).get_function("k")((1,), (4,), (np.zeros(4, np.int32),))
    assert (caught.value.line, caught.value.thread) == (5, (3, 0, 0))


def test_a_pointer_is_to_no_function_where_there_is_none_at_all(level):
    source = """typedef int (*Function)(int);
    __device__ Function none;
    extern "C" __global__ void k(int *out) { out[threadIdx.x] = none(1); }"""
    with gpusim.record(level=level), pytest.raises(errors.OutOfBounds, match="a pointer that holds 0x0"):
        gpusim.RawModule(code=source).get_function("k")((1,), (4,), (np.zeros(4, np.int32),))


def test_a_table_of_functions_is_the_same_at_both_levels():
    source = """typedef int (*Function)(int);
    __device__ int one(int x) { return x + 1; }
    __device__ int two(int x) { return x * 2; }
    __device__ Function table[2] = {one, two};
    extern "C" __global__ void k(int *out) {
        out[threadIdx.x] = table[threadIdx.x](out[threadIdx.x]);
        __syncthreads();
        if (threadIdx.x == 0) { Function first = table[0]; table[0] = table[1]; table[1] = first; }
    }"""
    out = np.array([10, 20], np.int32)
    function = gpusim.RawModule(code=source).get_function("k")
    for level, expected in (("sass", [11, 40]), ("ptx", [22, 41]), ("sass", [23, 82]), ("ptx", [46, 83])):
        with gpusim.record(level=level):
            function((1,), (2,), (out,))
        assert out.tolist() == expected


def test_kernels_of_a_module_share_a_function_table():
    """Each kernel has its own copy of a function in the machine code, and another one behind it."""
    source = """typedef int (*Function)(int);
    __device__ int one(int x) { return x + 1; }
    __device__ int two(int x) { return x * 2; }
    __device__ Function table[2] = {one, two};
    __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    extern "C" __global__ void k(int *out) { out[threadIdx.x] = table[threadIdx.x](out[threadIdx.x]); }
    extern "C" __global__ void other(int *out) {
        out[threadIdx.x] = table[1 - threadIdx.x](out[threadIdx.x]) + fibonacci(threadIdx.x + 5);
    }"""
    for levels in (("sass", "ptx"), ("ptx", "sass")):
        module, out = gpusim.RawModule(code=source), np.array([10, 20], np.int32)
        for level in levels:
            for name in ("k", "other"):
                with gpusim.record(level=level):
                    module.get_function(name)((1,), (2,), (out,))
        expected = np.array([10, 20])
        for _ in levels:
            expected = [2 * (expected[0] + 1) + 5, expected[1] * 2 + 1 + 8]
        assert out.tolist() == expected


def test_pointer_call_that_no_function_fits_is_refused_by_line():
    source = """extern "C" __global__ void k(int *out) {
        out[0] = ((int (*)(int))out)(1);
    }"""
    with pytest.raises(errors.OutOfBounds, match="calls a function through a pointer that holds 0x") as caught:
        at_ptx_level(source, np.zeros(1, np.int32))
    assert caught.value.line == 2


def test_null_function_pointer_not_called_does_not_matter():
    source = """typedef int (*Function)(int);
    __device__ Function none;
    extern "C" __global__ void k(int *out) { out[threadIdx.x] = none ? none(1) : 7; }"""
    out = np.zeros(4, np.int32)
    at_ptx_level(source, out, threads=4)
    assert out.tolist() == [7] * 4


def test_an_error_in_a_function_names_its_own_line():
    source = """__device__ __noinline__ void put(int *p, int i) {
        p[i] = 1;
    }
    extern "C" __global__ void k(int *out) {
        put(out, threadIdx.x);
    }"""
    with pytest.raises(errors.OutOfBounds) as caught:
        at_ptx_level(source, np.zeros(8, np.int32), threads=9)
    assert (caught.value.line, caught.value.thread) == (2, (8, 0, 0))


def test_instructions_of_a_function_count_once_per_call():
    source = """__device__ __noinline__ void add(int *p, int i) { p[i] += 1; }
    extern "C" __global__ void k(int *out) {
        for (int j = 0; j < out[64]; ++j) add(out, threadIdx.x);
        if (threadIdx.x < 32) add(out, threadIdx.x);
    }"""
    out = np.zeros(65, np.int32)
    out[64] = 5
    with gpusim.record(level="ptx") as recording:
        gpusim.RawModule(code=source).get_function("k")((1,), (64,), (out,))
    assert out[:64].tolist() == [6] * 32 + [5] * 32
    assert (
        sum(counts.requests for (_, space, op, _), counts in recording.launches[0].counts.items() if op == "st") == 11
    )
