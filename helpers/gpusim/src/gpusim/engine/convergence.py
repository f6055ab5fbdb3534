"""Which threads of a warp run together, as the hardware decides it since Volta.

A warp whose threads disagree on a branch falls apart into *groups*, and every group executes its instructions on its
own, even where two groups pass through the same ones. Groups become one again only where the code says so: BSSY Bn
names the threads that shall meet, BSYNC Bn waits for all of them, BREAK Bn and EXIT leave the meeting; WARPSYNC waits
for the lanes that its mask names. So the number of instructions and of memory requests depends on this.

Arrays here have the shape (warps, 32), warps of all blocks of a wave; lanes beyond the block are not living.
"""

from collections.abc import Iterator

import numpy as np

from gpusim.devices import WARP

LANE = np.arange(WARP, dtype=np.int8)
WARPSYNC = 100  # what `waiting` holds at a WARPSYNC; 1 + n at BSYNC Bn, 0 for those that run
ANYWHERE = -1  # where lanes resume that come to their ENDCOLLECTIVE by themselves
NO_MEETING = -1  # the token of a thread that has left a meeting, or was never named
NO_AGREEMENT = np.array(NO_MEETING)
BITS = np.uint32(1) << LANE.astype(np.uint32)


class Convergence:
    """The groups of all warps of a wave from the moment that one of them diverges until all are whole again.

    `leader` holds for every thread the first lane of its group, so that two threads of a warp are together if their
    leaders are equal. A meeting is a token: the threads of a warp that hold the same token for Bn meet there; the
    token 0 is everyone's that was not in a meeting of its own when the warps diverged.
    """

    def __init__(self, shape: tuple[int, int], exited: np.ndarray | None) -> None:
        self.shape = shape
        self.warps = -(-shape[1] // WARP)
        self.living = self.rows(np.ones(shape, bool) if exited is None else ~exited).copy()
        first = self.living.argmax(axis=1).astype(np.int8)
        self.leader = np.broadcast_to(first[:, None], self.living.shape).copy()
        self.tokens: dict[int, np.ndarray] = {}
        self.waiting = np.zeros(self.living.shape, np.int8)
        self.wanted = np.zeros(self.living.shape, np.uint32)
        self.together = np.full(self.living.shape, -1, np.int8)  # the leader before WARPSYNC.COLLECTIVE, else -1,
        self.resumes = np.zeros(self.living.shape, np.int32)  # and where the thread goes on after ENDCOLLECTIVE
        self.left: dict[int, np.ndarray] = {}  # by barrier: the warps whose meeting goes on without some of the threads
        self._serial = 0
        self._at_first = self.living.copy()
        self._agreed: dict[tuple[int, int], np.ndarray] = {}  # by barrier and serial: the tokens of those to arrive

    # ---- shapes
    def rows(self, values: np.ndarray) -> np.ndarray:
        """(blocks, threads) → (warps, 32), filled up with zeros."""
        values = np.broadcast_to(values, self.shape)
        padding = self.warps * WARP - self.shape[1]
        if padding:
            values = np.pad(values, ((0, 0), (0, padding)))
        return values.reshape(-1, WARP)

    def threads(self, rows: np.ndarray) -> np.ndarray:
        """(warps, 32) → (blocks, threads)."""
        return rows.reshape(self.shape[0], -1)[:, : self.shape[1]]

    # ---- what the engine asks
    def count(self, mask: np.ndarray) -> int:
        """How many groups the active threads make: each executes an instruction once."""
        return int((self.rows(mask) & self.leads()).sum())

    def leads(self) -> np.ndarray:
        """The threads that are the first of their group, bool (warps, 32)."""
        return self.leader == LANE

    def layers(self, mask: np.ndarray) -> list[np.ndarray]:
        """The active threads in as few masks as possible such that a mask has at most one group of each warp."""
        active = self.rows(mask)
        low = np.where(active, self.leader, WARP).min(axis=1)
        high = np.where(active, self.leader, -1).max(axis=1)
        if not (low < high).any():
            return [mask]
        return [self.threads(layer) for layer, _ in self._groups(active)]

    def blocked(self) -> np.ndarray:
        """The threads that wait for others, bool (blocks, threads)."""
        return self.threads(self.waiting != 0)

    def whole(self) -> bool:
        """Whether the living threads of every warp are one group again, no thread waits, and all take part in what
        meetings are to come."""
        low = np.where(self.living, self.leader, WARP).min(axis=1)
        high = np.where(self.living, self.leader, -1).max(axis=1)
        apart = (low < high).any() or self.waiting.any() or (self.together >= 0).any()
        return not (apart or any(self._goes_on_without_some(barrier).any() for barrier in self.left))

    def _goes_on_without_some(self, barrier: int) -> np.ndarray:
        """The warps in which a thread has left a meeting that others still have before them, bool (warps,)."""
        member = self._tokens(barrier) != NO_MEETING
        return self.left[barrier] & (self.living & member).any(axis=1) & (self.living & ~member).any(axis=1)

    def of_which_some_are(self, mask: np.ndarray) -> np.ndarray:
        """The threads of the groups of which some are set, bool (blocks, threads): those that have met go on together,
        though it was the turn of some of them only."""
        chosen = self.rows(mask)
        led = np.zeros(chosen.shape, bool)
        warps, lanes = np.nonzero(chosen)
        led[warps, self.leader[warps, lanes]] = True
        return self.threads(np.take_along_axis(led, self.leader.astype(np.int64), axis=1) & self.living)

    def whole_warps(self, mask: np.ndarray) -> np.ndarray:
        """The active threads, and all lanes of the warps of which only one group is active."""
        active = self.rows(mask)
        low = np.where(active, self.leader, WARP).min(axis=1, keepdims=True)
        high = np.where(active, self.leader, -1).max(axis=1, keepdims=True)
        return self.threads(active | (low == high))

    # ---- what happens to groups
    def split(self, active: np.ndarray, destination: np.ndarray) -> None:
        """The active threads go to different places: those of a group that go to the same one stay together."""
        active, destination = self.rows(active), self.rows(destination)
        for target in np.unique(destination[active]).tolist():
            self._regroup(active & (destination == target))

    def missed_by(self, gone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(threads that wait at a WARPSYNC for some of `gone`, those of `gone`), bool (blocks, threads)."""
        absent = self.rows(gone)
        bits = np.where(absent, BITS, np.uint32(0)).sum(axis=1, dtype=np.uint32)[:, None]
        waiting = (self.waiting == WARPSYNC) & (self.wanted & bits != 0)
        return self.threads(waiting), self.threads(absent & waiting.any(axis=1, keepdims=True))

    def exit(self, gone: np.ndarray, active: np.ndarray, pcs: np.ndarray) -> None:
        """Of the active threads, `gone` have exited: no thread waits for them any more."""
        gone = self.rows(gone)
        self.living &= ~gone
        self._regroup(self.rows(active) & ~gone)
        for code in np.unique(self.waiting).tolist():
            if code == WARPSYNC:
                self._release_warpsync(self.rows(pcs))
            elif code:
                self._release(code - 1)

    def enter(self, barrier: int, mask: np.ndarray) -> None:
        """BSSY: the threads of each active group agree to meet."""
        self._serial += 1
        active = self.rows(mask)
        self._forget(barrier, active)
        tokens = self._tokens(barrier)
        tokens[active] = (self._serial * WARP + self.leader.astype(np.int64))[active]
        self._agreed[barrier, self._serial] = np.where(active, tokens, NO_MEETING)

    def leave(self, barrier: int, mask: np.ndarray) -> None:
        """BREAK: the active threads will not come."""
        leaving = self.rows(mask)
        self._forget(barrier, leaving)
        self.left[barrier] = self.left.get(barrier, False) | leaving.any(axis=1)
        self._release(barrier)

    def arrive(self, barrier: int, mask: np.ndarray) -> None:
        """BSYNC: the active threads wait for the others of their meeting."""
        expected = self.rows(mask) & (self._tokens(barrier) != NO_MEETING)
        self.waiting[expected] = 1 + barrier
        self._release(barrier)

    def part_from_loops(self, looping: np.ndarray) -> bool:
        """The threads of `looping` wait in a loop for others of their warps, which wait for them at a BSYNC: those go
        on alone, as on an H200 (tests/gpusim/goldens/system_sm_90.json). Whether there are any."""
        here = (self.waiting > 0) & (self.waiting != WARPSYNC) & self.rows(looping).any(axis=1, keepdims=True)
        for code in np.unique(self.waiting[here]).tolist():
            self._forget(code - 1, here & (self.waiting == code))
            self.left[code - 1] = self.left.get(code - 1, False) | here.any(axis=1)
        self.waiting[here] = 0
        return bool(here.any())

    def part_from_circles(self) -> bool:
        """Of warps whose threads all wait at BSYNCs those go on that came to meet last. Whether there are any.

        For Blackwell ptxas leaves out a BREAK where two branches share their end (tests/gpusim/test_blackwell.py).
        """
        waiting = (self.waiting > 0) & (self.waiting != WARPSYNC)
        here = waiting & (waiting | ~self.living).all(axis=1, keepdims=True)
        codes = np.unique(self.waiting[here]).tolist()
        meetings = np.full(self.waiting.shape, NO_MEETING, np.int64)
        for code in codes:
            meetings = np.where(here & (self.waiting == code), self._tokens(code - 1), meetings)
        here &= meetings == meetings.max(axis=1, keepdims=True)
        for code in codes:
            self._forget(code - 1, here & (self.waiting == code))
        self.waiting[here] = 0
        return bool(here.any())

    def arrive_at_warpsync(self, named, mask: np.ndarray, pcs: np.ndarray) -> None:
        """WARPSYNC: the active threads wait for the lanes whose bits are set in `named`."""
        active = self.rows(mask)
        self.waiting[active] = WARPSYNC
        self.wanted[active] = self.rows(np.asarray(named).view(np.uint32))[active]
        self._release_warpsync(self.rows(pcs))

    def gather(self, mask: np.ndarray, resumes: int) -> None:
        """WARPSYNC.COLLECTIVE: remember the groups of the active threads, which will be one for a while, and where they
        resume then; ANYWHERE: behind the ENDCOLLECTIVE that they come to."""
        active = self.rows(mask)
        self.together[active] = self.leader[active]
        self.resumes[active] = resumes

    def part(self, mask: np.ndarray, end: int) -> np.ndarray:
        """ENDCOLLECTIVE: the active threads are the groups again that they were.

        Returns where the threads go on, (blocks, threads): those that were not gathered at `end`.
        """
        active = self.rows(mask) & (self.together >= 0)
        self.leader[active] = self.together[active]
        self.together[active] = -1
        return self.threads(np.where(active & (self.resumes != ANYWHERE), self.resumes, np.int32(end)))

    def read(self, barrier: int) -> np.ndarray:
        """BMOV from a barrier: its tokens, int32 (blocks, threads)."""
        return self.threads(self._tokens(barrier)).astype(np.int32)

    def clear(self, barrier: int, mask: np.ndarray) -> None:
        """BMOV.CLEAR: Bn is free for another meeting of the active threads, which will still come to this one."""
        self._tokens(barrier)[self.rows(mask)] = NO_MEETING

    def write(self, barrier: int, tokens, mask: np.ndarray) -> None:
        """BMOV to a barrier."""
        active = self.rows(mask)
        self._tokens(barrier)[active] = self.rows(np.asarray(tokens).view(np.int32))[active]

    # ---- inside
    def _tokens(self, barrier: int) -> np.ndarray:
        if barrier not in self.tokens:
            self.tokens[barrier] = np.zeros(self.living.shape, np.int64)
        return self.tokens[barrier]

    def _groups(self, active: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (mask with one group of each warp, that group's first active lane by warp)."""
        remaining = active.copy()
        rows = np.arange(len(remaining))
        while remaining.any():
            first = remaining.argmax(axis=1).astype(np.int8)
            layer = remaining & (self.leader == self.leader[rows, first][:, None])
            yield layer, first
            remaining &= ~layer

    def _regroup(self, part: np.ndarray) -> None:
        """The threads of `part` leave their groups together with those of `part` that are in the same group."""
        if part.any():
            leader = self.leader.copy()
            for layer, first in self._groups(part):
                np.copyto(leader, first[:, None], where=layer)
            self.leader = leader

    def _release(self, barrier: int) -> None:
        """Let the threads go on whose meeting at BSYNC is complete."""
        remaining = self.waiting == 1 + barrier
        if not remaining.any():
            return
        tokens = self._tokens(barrier)
        absent = self.living & (tokens != NO_MEETING) & ~remaining
        rows = np.arange(len(remaining))
        while remaining.any():
            first = remaining.argmax(axis=1).astype(np.int8)
            token = tokens[rows, first][:, None]
            same = tokens == token
            meeting = remaining & same
            missing = absent & same | self._still_to_come(barrier, token, meeting)
            free = meeting & ~missing.any(axis=1)[:, None]
            self._join(free, first)
            self._forget(barrier, free)
            if barrier in self.left:
                self.left[barrier] &= ~free.any(axis=1)
            remaining &= ~meeting

    def _forget(self, barrier: int, threads: np.ndarray) -> None:
        """These threads have been at the meeting that they have at Bn, or will not come."""
        tokens = self._tokens(barrier)
        for serial in np.unique(tokens[threads] // WARP).tolist():
            agreed = self._tokens_of(barrier, serial)
            if agreed is NO_AGREEMENT:
                continue
            agreed[threads & (agreed == tokens)] = NO_MEETING
            if serial and not (self.living & (agreed != NO_MEETING)).any():
                del self._agreed[barrier, serial]
        tokens[threads] = NO_MEETING

    def _still_to_come(self, barrier: int, token: np.ndarray, here: np.ndarray) -> np.ndarray:
        """The threads of each warp that agreed to the meeting `token`, int64 (warps, 1), and are not `here`.

        They may keep their token in a register, while a function that they called has meetings of its own at the same
        barrier.
        """
        missing = np.zeros(here.shape, bool)
        for serial in np.unique(token // WARP).tolist():
            missing |= (self._tokens_of(barrier, serial) == token) & self.living & ~here
        return missing

    def _tokens_of(self, barrier: int, serial: int) -> np.ndarray:
        """The tokens of the lanes that are to arrive at the meetings at Bn that began with this serial, NO_MEETING for
        all others."""
        if not serial and (barrier, 0) not in self._agreed:
            self._agreed[barrier, 0] = np.where(self._at_first, 0, NO_MEETING)
        return self._agreed.get((barrier, serial), NO_AGREEMENT)

    def _release_warpsync(self, pcs: np.ndarray) -> None:
        """Let the threads go on that all lanes they named have joined; those at the same place become one group."""
        here = self.waiting == WARPSYNC
        remaining = here.copy()
        rows = np.arange(len(remaining))
        while remaining.any():
            first = remaining.argmax(axis=1).astype(np.int8)
            named = (self.wanted[rows, first][:, None] & BITS) != 0
            stuck = (self.living & named & ~here).any(axis=1)
            same = remaining & (named | (first[:, None] == LANE)) & (pcs == pcs[rows, first][:, None])
            self._join(same & ~stuck[:, None], first)
            remaining &= ~same

    def _join(self, free: np.ndarray, first: np.ndarray) -> None:
        self.waiting[free] = 0
        np.copyto(self.leader, first[:, None], where=free)
