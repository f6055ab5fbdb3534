"""The scope of a strong access: between threads of different blocks one of the block does not count.

PTX ISA, 'Memory Consistency Model': operations are morally strong, and so do not race, if the scope of each includes
the thread that makes the other one.
"""

import numpy as np
import pytest

import gpusim
from gpusim import errors

I32 = np.int32
REF = "cuda::atomic_ref<int, cuda::thread_scope_{}>(*word)"
RELAXED = "cuda::memory_order_relaxed"


def launch(body: str, level: str, blocks: int = 3, threads: int = 64) -> np.ndarray:
    """The words and the answers behind a launch. RaceError if the sanitizer sees a race."""
    source = "#include <cuda/atomic>\n" if "cuda::" in body else ""
    source += f"""extern "C" __global__ void kernel(int *word, int *out) {{
        const int t = threadIdx.x, b = blockIdx.x, last = gridDim.x - 1;
        {body}
    }}"""
    word, out = np.zeros(64, I32), np.zeros(64, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((blocks,), (threads,), (word, out))
    return word


OF_BLOCK = {
    "a sum": "atomicAdd_block(word, 1);",
    "a sum by one thread": "if (t == 0) atomicAdd_block(word, 1);",
    "a sum of floats": "if (t == 0) atomicAdd_block((float *)word, 1.0f);",
    "a sum that is read": "if (t == 0) out[b] = atomicAdd_block(word, 1);",
    "a swap": "if (t == 0) out[b] = atomicCAS_block(word, b, b + 1);",
    "the first block only": "if (t == 0) b == 0 ? atomicAdd_block(word, 1) : atomicAdd(word, 1);",
    "the last block only": "if (t == 0) b == last ? atomicAdd_block(word, 1) : atomicAdd(word, 1);",
    "before one of the device": "if (b == 0) { if (t == 0) atomicAdd_block(word, 1); __syncthreads(); "
    "if (t == 1) out[b] = atomicAdd(word, 1); } else if (t == 0) out[b] = atomicAdd(word, 1);",
    "a reference": f"if (t == 0) {REF.format('block')}.fetch_add(1, {RELAXED});",
    "a store": f"if (t == 0) {REF.format('block')}.store(b, {RELAXED});",
    "a load": f"if (t == 0) {{ if (b) out[b] = {REF.format('block')}.load({RELAXED}); else atomicAdd(word, 1); }}",
    "behind a lock of the block": "if (t == 0) { while (atomicCAS_block(word + 1, 0, 1)) { } __threadfence(); ++*word; "
    "__threadfence(); atomicExch_block(word + 1, 0); }",
}
ALLOWED = {
    "one word for each block": ("atomicAdd_block(word + b, 1);", 64),
    "of the device": ("if (t == 0) atomicAdd(word, 1);", 3),
    "of the system": ("if (t == 0) atomicAdd_system(word, 1);", 3),
    "of device and system": ("if (t == 0) b == 0 ? atomicAdd_system(word, 1) : atomicAdd(word, 1);", 3),
    "in shared memory": (
        "__shared__ int sum; if (t == 0) sum = 0; __syncthreads(); atomicAdd_block(&sum, 1); __syncthreads(); "
        "if (t == 0) atomicAdd(word, sum);",
        192,
    ),
    "stores of one value": (f"if (t == 0) {REF.format('block')}.store(7, {RELAXED});", 7),
    "then handed on": (
        "atomicAdd_block(word + b, 1); __syncthreads(); __shared__ int before; "
        "if (t == 0) { __threadfence(); before = atomicAdd(word + 9, 1); __threadfence(); } __syncthreads(); "
        "if (t == 0 && before == last) { for (int k = 1; k <= last; ++k) word[0] += word[k]; }",
        192,
    ),
    "a lock inside each block": (
        "if (t % 32 == 0) { while (atomicCAS_block(word + 8 + b, 0, 1)) { } __threadfence_block(); word[b] += 1; "
        "__threadfence_block(); atomicExch_block(word + 8 + b, 0); }",
        2,
    ),
    "a release in each block": (
        "if (t == 0) { word[b] = 5; cuda::atomic_ref<int, cuda::thread_scope_block>(word[8 + b])"
        ".store(1, cuda::memory_order_release); } "
        "if (t == 32) { while (!cuda::atomic_ref<int, cuda::thread_scope_block>(word[8 + b])"
        ".load(cuda::memory_order_acquire)) { } word[b] += 1; }",
        6,
    ),
    "acquired from another block, then released in the own one": (
        "if (b == 0 && t == 0) { word[1] = 3; __threadfence(); atomicExch(word + 2, 1); } "
        "if (b == 1 && t == 0) { while (!atomicAdd(word + 2, 0)) { } __threadfence(); atomicExch_block(word + 3, 1); } "
        "if (b == 1 && t == 32) { while (!atomicAdd_block(word + 3, 0)) { } __threadfence(); word[0] = word[1]; }",
        3,
    ),
    "released in the own block, then to another one": (
        "if (b == 0 && t == 0) { word[1] = 3; __threadfence(); atomicExch_block(word + 3, 1); } "
        "if (b == 0 && t == 32) { while (!atomicAdd_block(word + 3, 0)) { } __threadfence(); atomicExch(word + 2, 1); }"
        "if (b == 1 && t == 0) { while (!atomicAdd(word + 2, 0)) { } __threadfence(); word[0] = word[1]; }",
        3,
    ),
}


@pytest.mark.parametrize("body", OF_BLOCK.values(), ids=OF_BLOCK)
def test_an_access_of_block_scope_races_between_blocks(body, level):
    with pytest.raises(errors.RaceError, match="between blocks"):
        launch(body, level)
    launch(body, level, blocks=1)


def test_the_sentence_asks_for_the_scope_of_the_device(level):
    with pytest.raises(errors.RaceError, match="among the threads of its own block only") as caught:
        launch(OF_BLOCK["a sum"], level)
    assert "updates (atomically) word[0]" in str(caught.value)


@pytest.mark.parametrize(("body", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_accesses_whose_scopes_suffice_do_not_race(body, expected, level):
    assert launch(body, level)[0] == expected


def test_a_flag_of_block_scope_hands_nothing_on_to_other_blocks(level):
    with pytest.raises(errors.RaceError) as caught:
        launch(
            "if (t) return; if (b == 0) { word[1] = 3;\n __threadfence(); atomicExch_block(word, 1); }\n"
            "else { while (atomicAdd(word, 0) == 0) { }\n __threadfence(); out[b] = word[1]; }",
            level,
            blocks=2,
        )
    assert "word[1]" in str(caught.value)
