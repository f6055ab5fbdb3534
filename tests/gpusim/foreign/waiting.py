"""Rows of threads that wait for others."""

import numpy as np
import pytest

from gpusim import errors
from tests.gpusim.foreign.rows import held, refused, right

I32, U32, F32 = np.int32, np.uint32, np.float32

held("work_queue_persistent", "test_textbook_kernels.py::test_blocks_take_their_work_from_a_queue")
held("grid_barrier_132_blocks_of_256",
     "test_cooperative.py::test_all_blocks_see_what_all_wrote_before_they_met",
     "test_schedule.py::test_grid_barrier_orders_blocks_with_checks",
     "test_schedule.py::test_grid_barrier_holds_as_many_blocks_as_the_device")  # fmt: skip


@right("warp_producer_consumer_volatile_shared")
def _(run, rng):
    """No race: volatile accesses are strong, and the fences on both sides order them (PTX ISA, memory model)."""
    x, y = rng.integers(-99, 99, 4).astype(I32), np.zeros(4, I32)
    run("warps_pass_on", 1, 64, x, y, I32(4))
    assert y.tolist() == (x + np.arange(4)).tolist()


@right("spinlock_block_mutex_loop")
def _(run, rng):
    lock, total, log = np.zeros(1, I32), np.zeros(1, I32), np.zeros(6, I32)
    run("mutex_of_blocks", 6, 32, lock, total, log)
    order = np.argsort(log)
    assert total[0] == 21 and lock[0] == 0 and log[order].tolist() == [0, *np.cumsum(order + 1)[:-1].tolist()]


@right("spinlock_block_mutex_nonvolatile")
def _(run, rng):
    lock, total, wanted = np.zeros(1, I32), np.zeros(1, I32), 0
    run("mutex_without_volatile", 4, 32, lock, total)
    for _ in range(4):
        wanted += wanted % 7 + 1
    assert total[0] == wanted and lock[0] == 0


@right("spinlock_per_thread_done_flag", "per_bucket_locks_histogram")
def _(run, rng):
    x, locks, sums = rng.integers(-99, 99, 90).astype(I32), np.zeros(5, I32), np.zeros(5, I32)
    run("lock_with_flag", 3, 32, locks, sums, x, I32(90), I32(5))
    assert sums.tolist() == [x[x % 5 == b].sum() for b in range(5)] and not locks.any()


@right("spinlock_per_thread_volta_naive")
def _(run, rng):
    lock, count = np.zeros(1, I32), np.zeros(1, I32)
    run("lock_of_threads", 2, 6, lock, count)
    assert (lock[0], count[0]) == (0, 12)


@right("ticket_lock")
def _(run, rng):
    following, served, chain, wanted = np.zeros(1, I32), np.zeros(1, I32), np.zeros(1, I32), 0
    run("tickets", 5, 32, following, served, chain)
    for ticket in range(5):
        wanted = wanted * 3 + ticket
    assert chain[0] == wanted and served[0] == 5


def _flags(giver):
    def check(run, rng):
        x, y, data, flag = rng.integers(-99, 99, 64).astype(I32), np.zeros(64, I32), np.zeros(64, I32), np.zeros(1, I32)
        run("hands_over", 2, 64, x, y, data, flag, I32(giver), I32(64))
        assert (y == 3 * x[::-1]).all()

    return check


right("flag_wait_block1_on_block0")(_flags(0))
right("flag_wait_block0_on_block1")(_flags(1))


@right("flag_acquire_release_ptx")
def _(run, rng):
    x, data, flag, y = (
        rng.integers(-99, 99, 32).astype(I32),
        np.zeros(32, I32),
        np.zeros(1, I32),
        np.zeros((3, 32), I32),
    )
    run("releases", 4, 32, x, data, flag, y)
    assert (y == x + 1).all()


@right("grid_barrier_atomic_small")
def _(run, rng):
    n = 4 * 32
    a, b = rng.integers(0, 9, n).astype(I32), np.zeros(n, I32)
    wanted = a.copy()
    run("steps_of_all", 4, 32, a, b, np.zeros(1, U32), I32(5), I32(n))
    for _ in range(5):
        wanted = wanted + np.roll(wanted, -1)
    assert b.tolist() == wanted.tolist()


@right("grid_barrier_volatile_small")
def _(run, rng):
    x, mine, out = rng.integers(-99, 99, 6).astype(I32), np.zeros(6, I32), np.zeros(6, I32)
    run("volatile_barrier", 6, 32, np.zeros(1, I32), x, mine, out)
    assert out.tolist() == np.roll(x, -1).tolist()


@right("stream_k_fixup_flags_reverse_order")
def _(run, rng):
    x, parts, flags, out = (
        rng.integers(-99, 99, (9, 50)).astype(I32),
        np.zeros(9, I32),
        np.zeros(9, I32),
        np.zeros(3, I32),
    )
    run("fix_up", 9, 32, x, parts, flags, out, I32(50))
    assert out.tolist() == x.reshape(3, 150).sum(axis=1).tolist()


@right("last_block_reduction_threadfence")
def _(run, rng):
    x, parts, count, out = rng.integers(-99, 99, 1000).astype(F32), np.zeros(6, F32), np.zeros(1, U32), np.zeros(1, F32)
    run("last_block", 6, 64, x, parts, count, out, I32(1000))
    assert out[0] == x.sum() and count[0] == 0


@right("stack_push_pop_atomics")
def _(run, rng):
    items, top, popped = np.zeros(96, I32), np.zeros(1, I32), np.zeros(96, I32)
    run("stack", 3, 32, items, top, popped)
    assert top[0] == 96 and sorted(items.tolist()) == list(range(100, 196)) and (popped == -1).all()
    run("pops", 3, 32, items, top, popped)
    assert top[0] == 0 and sorted(popped.tolist()) == list(range(100, 196))


@refused("bellman_ford_convergence_racy_benign")
def _(run, rng):
    """With a plain read beside the atomics it is a race by the memory model; what the message advises runs."""
    n, edges = 30, 120
    starts, ends, weights = rng.integers(0, n, edges), rng.integers(0, n, edges), rng.integers(1, 50, edges)
    arrays = [part.astype(I32) for part in (starts, ends, weights)]
    wanted = np.full(n, 10**6)
    wanted[0] = 0
    for _ in range(n):
        np.minimum.at(wanted, ends, np.where(wanted[starts] < 10**6, wanted[starts] + weights, 10**6))
    for name in ("relaxes", "relaxes_by_volatile"):
        distances = np.full(n, 10**6, I32)
        distances[0] = 0
        for _ in range(n):
            changed = [np.zeros(1, I32)] if name == "relaxes" else []
            before = distances.copy()
            run(name, 2, 64, *arrays, distances, *changed, I32(edges))
            if (before == distances).all():
                break
        assert distances.tolist() == wanted.tolist()
        assert not changed or changed[0] == 0
    distances[:], distances[0] = 10**6, 0
    with pytest.raises(errors.RaceError, match=r"race in global memory(.|\n)*atomicMin(.|\n)*distance") as caught:
        run("relaxes_plainly", 2, 64, *arrays, distances, I32(edges))
    assert "read it through a volatile pointer" in str(caught.value)
