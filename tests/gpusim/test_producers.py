"""Producers and consumers that meet at mbarriers: who arrives hands on what it did to those who find the phase ended.

PTX ISA, 'mbarrier.arrive' releases and 'mbarrier.try_wait' acquires; others of the block learn nothing of it.
"""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled

HEAD = """
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(bar)) : "memory");
}
__device__ void wait(unsigned long long *bar, int parity) {
    for (int done = 0; !done;)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void kernel(const int *x, int *out, int tiles) {
    __shared__ int ring[2][32];
    __shared__ unsigned long long full[2], empty[2];
    __shared__ volatile int flag;
    const int t = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        flag = 0;
        for (int stage = 0; stage < 2; ++stage) {
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at(&full[stage])) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at(&empty[stage])) : "memory");
        }
    }
    __syncthreads();
"""
# The first warp produces, the second consumes; a third one is a bystander.
RING = """
    if (warp == 0) {
        for (int k = 0; k < tiles; ++k) {
            if (k >= 2) wait(&empty[k % 2], (k / 2 - 1) % 2);   // free
            ring[k % 2][t] = x[32 * k + t];                      // produce
            arrive(&full[k % 2]);                                // hand on
        }
    } else if (warp == 1) {
        for (int k = 0; k < tiles; ++k) {
            wait(&full[k % 2], k / 2 % 2);                       // filled
            out[32 * k + t] = ring[k % 2][31 - t];               // consume
            arrive(&empty[k % 2]);                               // give back
        }
    }
}"""
COPIES = '"cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(&ring[k % 2][t])), "l"(x + 32 * k + t)'
ARRIVES = '"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(&full[k % 2]))'
COPIED = RING.replace("ring[k % 2][t] = x[32 * k + t];", f'asm volatile({COPIES} : "memory");').replace(
    "arrive(&full[k % 2]);", f'asm volatile({ARRIVES} : "memory");'
)
# A third warp reads when the second one says so, by a variable and fences.
BY_A_FLAG = """
    if (warp == 0) { ring[0][t] = x[t]; arrive(&full[0]); }
    else if (warp == 1) {
        wait(&full[0], 0);
        ring[1][t] = ring[0][31 - t];
        __threadfence_block();
        __syncwarp();
        if (t == 0) flag = 1;
    } else {
        if (t == 0) while (flag == 0) { }
        __threadfence_block();
        __syncwarp();
        out[t] = ring[1][t];
    }
}"""


def run(body: str, level: str, tiles: int = 5) -> np.ndarray:
    x, out = np.arange(160, dtype=np.int32) + 1, np.zeros(160, np.int32)
    with gpusim.record(level=level, checks="raise"):
        kernel = gpusim.RawModule(code=HEAD + body, arch="sm_90").get_function("kernel")
        kernel((3,), (96,), (x, out, np.int32(tiles)))
    return out


def swapped(old: str, other: str, body: str = RING) -> str:
    """The body with two of its lines in each other's place."""
    lines = body.splitlines()
    first, second = (
        next(number for number, line in enumerate(lines) if line.endswith(f"// {what}")) for what in (old, other)
    )
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def line_of(what: str) -> int:
    return next(n for n, line in enumerate((HEAD + RING).splitlines(), 1) if line.endswith(f"// {what}"))


@pytest.fixture(params=["compiled", "NumPy"])
def engine(request, monkeypatch):
    """One engine and the other."""
    if request.param == "NumPy":
        monkeypatch.setattr(compiled, "execute", lambda *arguments: None)


EXPECTED = (np.arange(160) + 1).reshape(5, 32)[:, ::-1].reshape(-1)


@pytest.mark.parametrize("body", [RING, COPIED], ids=["stores", "asynchronous copies"])
def test_a_ring_of_stages_is_filled_and_freed_in_order(level, body, engine):
    assert run(body, level).tolist() == EXPECTED.tolist()


@pytest.mark.parametrize("body", [RING, COPIED], ids=["stores", "asynchronous copies"])
def test_a_stage_that_is_given_back_before_it_is_read_is_a_race(level, body):
    with pytest.raises(errors.HazardError, match="ring") as caught:
        run(swapped("consume", "give back", body), level)
    assert line_of("produce") in caught.value.lines


def test_waiting_for_one_stage_acquires_no_other(level):
    early = RING.replace("wait(&full[k % 2], k / 2 % 2);", "if (k % 2 == 0) wait(&full[0], k / 2 % 2);")
    assert early != RING
    with pytest.raises(errors.HazardError, match="ring") as caught:
        run(early, level, tiles=2)
    assert {line_of("produce"), line_of("consume")} <= set(caught.value.lines)


def test_stores_behind_the_arrival_are_not_released(level):
    with pytest.raises(errors.HazardError, match="ring"):
        run(swapped("produce", "hand on"), level)


# A third warp, or the second one of another stage, comes late, but has waited for nothing that it would know by.
LATE = "unsigned v = t; for (int i = 0; i < 100 * tiles; ++i) v = v * 1664525u + 1013904223u;"
UNASKED = {
    "the same stage": f"""
    if (warp == 0) {{ ring[0][t] = x[t]; arrive(&full[0]); }}
    else if (warp == 1) {{ wait(&full[0], 0); out[t] = ring[0][31 - t]; }}
    else {{ {LATE} out[32 + t] = ring[0][31 - t] + (v == 77); }}
}}""",
    "another stage": f"""
    if (warp == 0) {{ ring[0][t] = x[t]; arrive(&full[0]); ring[1][t] = x[32 + t]; arrive(&full[1]); }}
    else if (warp == 1) {{ wait(&full[0], 0); {LATE} out[t] = ring[1][31 - t] + (v == 77); }}
}}""",
}


@pytest.mark.parametrize("which", UNASKED)
def test_ended_phase_orders_nothing_for_warps_that_do_not_wait(which, level):
    with pytest.raises(errors.RaceError, match="ring"):
        run(UNASKED[which], level)


IN_GLOBAL_MEMORY = f"""
    if (warp == 0) {{ out[t] = x[t]; arrive(&full[0]); }}
    else if (warp == 1) {{ wait(&full[0], 0); out[32 + t] = out[31 - t]; }}
    else {{ {LATE} out[64 + t] = OTHERS[31 - t] + (v == 77); }}
}}"""


def test_waiting_alone_acquires_global_memory(level, engine):
    def alone(others):
        x, out = np.arange(160, dtype=np.int32) + 1, np.zeros(160, np.int32)
        with gpusim.record(level=level, checks="raise"):
            kernel = gpusim.RawModule(code=HEAD + IN_GLOBAL_MEMORY.replace("OTHERS", others), arch="sm_90")
            kernel.get_function("kernel")((1,), (96,), (x, out, np.int32(5)))
        return out

    assert alone("x")[32:96].tolist() == 2 * list(range(32, 0, -1))
    with pytest.raises(errors.RaceError, match="out"):
        alone("out")


def test_mbarrier_knowledge_may_be_released_by_a_flag(level, engine):
    assert run(BY_A_FLAG, level)[:32].tolist() == list(range(32, 0, -1))
