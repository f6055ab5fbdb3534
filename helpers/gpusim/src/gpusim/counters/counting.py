"""What the memory system does for one warp-level request: sectors, tags and wavefronts.

A *request* is one memory instruction of one warp with at least one active lane. Each function takes W requests at once:

    addresses   (W, 32) int64   byte address of each lane's access, a multiple of `width`; ignored where inactive
    active      (W, 32) bool    the lanes that take part
    width       int             bytes that one lane accesses: 1, 2, 4, 8 or 16

and returns one int64 a request, shape (W,); a row without an active lane counts 0. Other widths and misaligned
addresses raise ValueError. The rules are Nsight Compute's, compared with its counters on an NVIDIA H200.
"""

import numpy as np

from gpusim.devices import BANKS, LINE_BYTES, SECTOR_BYTES, WARP, WORD_BYTES

WIDTHS = (1, 2, 4, 8, 16)


def sectors(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Distinct 32-byte sectors that each request touches: what global memory must deliver."""
    _check(addresses, active, width)
    return _distinct(addresses // SECTOR_BYTES, active)


def tags(addresses: np.ndarray, active: np.ndarray, width: int, asynchronous: bool = False) -> np.ndarray:
    """Distinct 128-byte lines that each request touches: the cache looks up one tag for each.

    An asynchronous copy of 16 bytes a lane looks them up quarter-warp by quarter-warp: a line that two of them touch
    counts twice.
    """
    _check(addresses, active, width)
    lines = addresses // LINE_BYTES
    if not (asynchronous and width == 16):
        return _distinct(lines, active)
    return _distinct(lines.reshape(-1, WARP // 4), active.reshape(-1, WARP // 4)).reshape(-1, 4).sum(axis=1)


def useful_bytes(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Distinct bytes that the lanes of each request ask for; a byte that many lanes share counts once."""
    _check(addresses, active, width)
    return width * _distinct(addresses, active)


def sector_ids(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """The sorted numbers (address // 32) of the sectors that the requests touch together, shape (distinct sectors,)."""
    _check(addresses, active, width)
    return np.unique(addresses[active] // SECTOR_BYTES)


def wavefronts(addresses: np.ndarray, active: np.ndarray, width: int, stores: bool = False) -> np.ndarray:
    """Wavefronts in which shared memory serves each request; `stores` tells stores and atomics from loads.

    A request is served in phases: one for the whole warp up to 32 bits a lane, one a half-warp at 64 bits, one a
    quarter-warp at 128 bits. A phase takes as many wavefronts as its busiest bank holds distinct words. Two phases of a
    load become one where neighbouring lanes share their addresses and the two together have no conflict; see `_merged`.
    """
    _check(addresses, active, width)
    phases = max(1, width // WORD_BYTES)
    busiest = _busiest(phases, addresses, active, max(width, WORD_BYTES))
    if phases == 1 or stores:
        return busiest.sum(axis=1)
    counts = busiest.sum(axis=1)
    merged = _merged(addresses, active, width)
    if width == 8:
        return np.where(merged[:, 0], 1, counts)
    pairs = np.where(merged, 1, busiest.reshape(-1, 2, 2).sum(axis=2)).sum(axis=1)
    uniform, lanes = _uniform(addresses, active), active.sum(axis=1)
    return np.where(uniform & (lanes > 0), np.where(lanes <= WARP // 2, 1, 2), pairs)


def copy_wavefronts(
    to: np.ndarray, origin: np.ndarray, active: np.ndarray, width: int, reads: np.ndarray | None = None
) -> np.ndarray:
    """Wavefronts of asynchronous copies of `width` bytes a lane, from `origin` in global memory `to` shared memory.

    reads: (W, 32) bool, the lanes that read anything; the others write zeros. None: all active ones.

    The L1 cache, which they come through, lies in the same banks as shared memory: a line's word w in bank w. So
    reading four lines at the same place in each takes four wavefronts, however well they are written. The slower side
    counts; but a lane that copies one word is served in the same wavefront on both sides, and so it waits for every
    earlier lane's word that lies in the bank that it reads or in the one that it writes.
    """
    reads = active if reads is None else active & reads
    read, written = wavefronts(origin, reads, width, stores=True), wavefronts(to, active, width, stores=True)
    counts = np.maximum(read, written)
    if width == WORD_BYTES:
        both = (read > 1) & (written > 1)
        counts[both] = 1 + _longest_wait(to[both], origin[both], active[both], reads[both])
    return counts


def ideal_wavefronts(active: np.ndarray, width: int) -> np.ndarray:
    """Wavefronts of each request if no two words met in a bank: its phases that have an active lane.

    That is 1, 2 or 4 for a full warp with 32, 64 or 128 bits a lane. Where neighbours share, `wavefronts` can be fewer.
    """
    phases = max(1, width // WORD_BYTES)
    return active.reshape(-1, phases, WARP // phases).any(axis=2).sum(axis=1)


def bank_conflicts(addresses: np.ndarray, active: np.ndarray, width: int, stores: bool = False) -> np.ndarray:
    """Wavefronts beyond the first of each phase of each request: 0 when no bank holds two of the words."""
    _check(addresses, active, width)
    phases = max(1, width // WORD_BYTES)
    extra = np.maximum(_busiest(phases, addresses, active, max(width, WORD_BYTES)) - 1, 0)
    if phases > 1 and not stores:
        merged = np.repeat(_merged(addresses, active, width), 2, axis=1)
        extra = np.where(merged | _uniform(addresses, active)[:, None], 0, extra)
    return extra.sum(axis=1)


def is_certain(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Whether the wavefronts of each request, a load, follow a rule that never failed against the hardware.

    Of 128-bit loads of a warp with inactive lanes whose phases could merge, about one in a hundred differs.
    """
    certain = np.ones(len(active), bool)
    if width == 16:
        halves = _busiest(2, addresses, active, width)
        quarters = _busiest(4, addresses, active, width).reshape(-1, 2, 2)
        could_merge = ((halves == 1) & (quarters > 0).all(axis=2)).any(axis=1)
        certain = active.all(axis=1) | _uniform(addresses, active) | ~could_merge
    return certain


def _distinct(values: np.ndarray, active: np.ndarray) -> np.ndarray:
    """How many different values >= 0 the active lanes of each row hold: sort, then count the changes."""
    ordered = np.sort(np.where(active, values, -1), axis=1)
    return np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1) + (ordered[:, 0] >= 0)


def _busiest(phases: int, addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """What the busiest bank holds in each of `phases` equal groups of lanes, shape (W, phases).

    An aligned access of 8 or 16 bytes takes 2 or 4 banks together, so those count as one bank with one wider word.
    """
    banks = BANKS * WORD_BYTES // width
    words = np.where(active, addresses // width, -1).reshape(-1, WARP // phases)  # (W * phases, lanes a phase)
    words.sort(axis=1)
    first_of_its_kind = words >= 0  # the same word again is a broadcast, and free
    first_of_its_kind[:, 1:] &= words[:, 1:] != words[:, :-1]
    bank = np.arange(len(words))[:, None] * banks + words % banks  # each group of lanes has its own banks
    load = np.bincount(bank[first_of_its_kind], minlength=len(words) * banks)
    return load.reshape(-1, phases, banks).max(axis=2)


def _merged(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Where two phases of a load are one wavefront: shape (W, 1) for the half-warps of a 64-bit load, (W, 2) for the
    quarter-warps of each half of a 128-bit load.

    They are if no bank holds two of their words, and if every active lane i has the address of lane i^1, or every one
    that of lane i^2, where that is active. Found with 833 patterns of addresses and active lanes on an NVIDIA H200: at
    64 bits the rule never failed, at 128 bits never for a full warp. With lane 31 active and one of the first 16 lanes
    not, the first half of a 128-bit load does not merge.
    """
    groups = 1 if width == 8 else 2
    grouped, taking_part = addresses.reshape(-1, WARP // groups), active.reshape(-1, WARP // groups)
    share = _neighbours_share(grouped, taking_part).reshape(len(active), groups)
    merged = share & (_busiest(groups, addresses, active, width) == 1)
    if width == 16:
        merged[:, 0] &= ~active[:, 31] | active[:, :16].all(axis=1)
    return merged


def bulk_sectors(place: int, shared: int, size: int) -> int:
    """The sectors of a copy in bulk of `size` bytes from or to byte `place` of global memory: those of each piece that
    lies in one line of shared memory, where byte `shared` is the first. So an H100 counts them."""
    cuts = [0, *range(LINE_BYTES - shared % LINE_BYTES, size, LINE_BYTES), size] if size else [0]
    return sum(
        (place + stop - 1) // SECTOR_BYTES - (place + start) // SECTOR_BYTES + 1
        for start, stop in zip(cuts, cuts[1:], strict=False)
    )


def _uniform(addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Rows in which all active lanes have one address."""
    first = np.take_along_axis(addresses, active.argmax(axis=1)[:, None], axis=1)
    return ((addresses == first) | ~active).all(axis=1)


def _neighbours_share(addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Rows where every active lane i has the address of lane i^1, or every one that of lane i^2, if that is active."""
    lanes = addresses.shape[1]

    def agree(distance: int) -> np.ndarray:
        halves = (-1, lanes // 2 // distance, 2, distance)  # lanes i and i ^ distance differ in the third index alone
        address, taking_part = addresses.reshape(halves), active.reshape(halves)
        same = address[:, :, 0] == address[:, :, 1]
        return (same | ~taking_part[:, :, 0] | ~taking_part[:, :, 1]).all(axis=(1, 2))

    return agree(1) | agree(2)


def _longest_wait(to: np.ndarray, origin: np.ndarray, active: np.ndarray, reads: np.ndarray) -> np.ndarray:
    """For how many earlier words the unluckiest lane of each request waits; one in both of its banks counts once."""
    earlier = np.tri(WARP, k=-1, dtype=bool)
    into = _meets(to, active) & earlier
    out_of = _meets(origin, reads) & earlier & ~into
    return (_words(into, to) + _words(out_of, origin)).max(axis=1, initial=0)


def _meets(addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
    """(W, lane, lane): whether both are active and their words are different ones in the same bank."""
    words = addresses // WORD_BYTES
    one, other = words[:, :, None], words[:, None, :]
    return (one != other) & (one % BANKS == other % BANKS) & active[:, :, None] & active[:, None, :]


def _words(chosen: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """(W, lane): how many different words those lanes have that are chosen, (W, lane, lane), for a lane."""
    words = addresses // WORD_BYTES
    again = (words[:, :, None] == words[:, None, :]) & np.tri(WARP, k=-1, dtype=bool)  # (W, lane, an earlier one)
    known = chosen.astype(np.int8) @ again.transpose(0, 2, 1).astype(np.int8) > 0
    return (chosen & ~known).sum(axis=2)


def _check(addresses: np.ndarray, active: np.ndarray, width: int) -> None:
    if width not in WIDTHS:
        raise ValueError(f"A lane accesses 1, 2, 4, 8 or 16 bytes at once, not {width}.")
    # One cheap pass decides the usual case; only a row with an odd address, perhaps an inactive lane's, is looked at.
    if np.bitwise_or.reduce(addresses, axis=None) & (width - 1) and ((addresses % width != 0) & active).any():
        row, lane = np.argwhere((addresses % width != 0) & active)[0]
        raise ValueError(
            f"Lane {lane} of request {row} accesses {width} bytes at byte address {addresses[row, lane]}, "
            f"which is no multiple of {width}: the hardware stops with 'misaligned address'."
        )
