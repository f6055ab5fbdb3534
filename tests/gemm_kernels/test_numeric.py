"""Every kernel is right for every size, alpha and beta; run on the simulator."""

import functools
import itertools

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.ladder import LADDER, SPECIALISTS
from gemm_kernels.launch import OPTIONS
from gpusim.engine import run as engine
from tests.gemm_kernels.test_views import view
from tests.gpusim.instructions import computed

# Smaller than any tile in some dimension, larger and no multiple of it in another; the first has rows of whole float4s.
SHAPES = [(68, 36, 20), (1, 1, 1), (33, 65, 19), (70, 131, 9)]
SMALL = {"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 4}
SMALLER = {  # a block tile that several blocks are needed for, at no great cost
    "naive": {"block_x": 8, "block_y": 16},
    "coalesced": {"block_x": 16, "block_y": 8},
    "shared_memory": {"T": 8},
    "block_tile_1d": {"BM": 32, "BN": 32, "BK": 8, "TM": 4},
    "warptiled": {"BM": 64, "BN": 32, "BK": 4, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "STAGES": 3},
    "serpentine": {"BM": 32, "BN": 64, "BK": 4, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 4},
    "wide_copies": {"BM": 64, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4, "TN": 8, "STAGES": 2},
    "staged_epilogue": {"BM": 32, "BN": 32, "BK": 8, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "rasterized": {"BM": 32, "BN": 32, "BK": 8, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 2},
    "sliced_k": {"BM": 32, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "SLICES": 2, "STAGES": 3},
    "stream_k": {"BM": 32, "BN": 32, "BK": 16, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 2, "STAGES": 4,
              "WORKERS": 6},
    "vector_matrix": {"BN": 32, "WARPS": 4, "LOADS": 2, "CLUSTER": 2, "WORKERS": 24},
    "matrix_vector": {"BM": 4, "LOADS": 2, "WORKERS": 10},
    "clustered": {"BM": 32, "BN": 32, "BK": 16, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 2, "STAGES": 4,
                  "BLOCKS": 1, "CLUSTER": 4},
    "reduce_scatter": {"BM": 32, "BN": 32, "BK": 16, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 2, "STAGES": 4,
                       "WORKERS": 6},
    "rank_k": {"BM": 16, "BN": 32, "BK": 12, "TM": 4, "TN": 4, "BLOCKS": 2},
    "producer": {"BM": 32, "BN": 32, "BK": 16, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 2, "STAGES": 3,
                 "PRODUCERS": 1, "BLOCKS": 1, "WORKERS": 6},
}  # fmt: skip
OWN_SOURCE = [kernel for kernel in LADDER + SPECIALISTS if kernel.name == kernel.file]
NAMES = [kernel.name for kernel in OWN_SOURCE]
# By its scope one kernel after the other goes through all tests: the simulator prepares each once.
every_kernel = pytest.mark.parametrize("name", NAMES, scope="module")


def smaller(name):
    kernel = get(name)
    return kernel.replace(**SMALLER.get(name, {key: SMALL[key] for key in SMALL if key in kernel.params}))


def random_matrices(M, N, K, seed=0):
    chance = np.random.default_rng(seed)
    return tuple(chance.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N), (M, N)))


def compiled(kernel, source=None, arch="sm_90"):
    """The kernel's function on the simulator; made of another source if one is given."""
    module = gpusim.RawModule(code=source or kernel.source, options=OPTIONS, name_expressions=[kernel.entry], arch=arch)
    function = module.get_function(kernel.entry)
    if kernel.shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = kernel.shared_bytes
    return function


def empty_workspace(kernel):
    """The last argument of a kernel whose blocks leave each other parts of C, as the first launch finds it."""
    return () if kernel.workspace_bytes is None else (np.zeros(max(kernel.workspace_bytes // 4, 1), np.float32),)


def launch(kernel, A, B, C, alpha=1.0, beta=0.0, function=None, workspace=None):
    """Run the kernel, which changes C. workspace: a new one if there is none."""
    (M, K), N = A.shape, B.shape[1]
    function = function or compiled(kernel)
    scalars = (np.int32(M), np.int32(N), np.int32(K), np.float32(alpha))
    workspace = empty_workspace(kernel) if workspace is None else workspace
    arguments = (*scalars, A, B, np.float32(beta), C, *workspace)
    function(kernel.grid(M, N), kernel.block, arguments, shared_mem=kernel.shared_bytes)


def launched(kernel, A, B, C, **how):
    """C after a `launch`: a copy, so that the caller's stays what it was."""
    result = C.copy()
    launch(kernel, A, B, result, **how)
    return result


def chain(A, B, ks):
    """The products of these k, added up as a chain of FP32 FMAs in this order."""
    acc = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for k in ks:
        acc = computed("fma.rn.ftz.f32", np.float32, A[:, k : k + 1], B[k : k + 1, :], acc)
    return acc


def products_in_order(kernel, A, B, aligned=True):
    """A times B as the kernel adds it up: one chain in the order of k; with slices, the sum of one chain for each.

    A slice owns its part of every tile's k. The first tile is the short one if BK does not divide K. The kernels whose
    blocks share out the work have functions of their own. aligned: whether matrices start at 16 bytes.
    """
    if kernel.file in ("stream_k", "reduce_scatter", "producer"):
        return shared_out(kernel, A, B)
    if kernel.file == "clustered":
        return in_clusters(kernel, A, B)
    if kernel.file == "vector_matrix":
        return strips_in_order(kernel, A, B, aligned)
    if kernel.file == "matrix_vector":
        return rows_in_order(kernel, A, B, aligned)
    K = A.shape[1]
    return in_slices(A, B, range(K), kernel.params.get("SLICES", 1), kernel.params.get("BK", K))


def in_slices(A, B, ks, slices, BK):
    """The sum of a chain for each slice, of those k that are its own."""
    if slices == 1:
        return chain(A, B, ks)
    K = A.shape[1]
    short = K - (-(-K // BK) - 1) * BK
    in_tile = [k if k < short else (k - short) % BK for k in range(K)]
    owned = [[k for k in ks if in_tile[k] // (BK // slices) == part] for part in range(slices)]
    return functools.reduce(np.add, (chain(A, B, ks) for ks in owned))


def shared_out(kernel, A, B):
    """Whole tiles as above; of those that blocks share, the sum of the parts in the order of k.

    The rounds of BK of the shared tiles, one tile after the other, are cut into a stretch for each block: by
    `reduce_scatter` where a fraction of rounds would end, rounded down.
    """
    p, (M, K), N = kernel.params, A.shape, B.shape[1]
    BM, BN, BK = p["BM"], p["BN"], p["BK"]
    down, across, rounds = -(-M // BM), -(-N // BN), -(-K // BK)
    groups = [range(first, min(first + 8, down)) for first in range(0, down, 8)]
    order = [(y, x) for group in groups for x in range(across) for y in group]
    blocks, tiles = kernel.grid(M, N)[0], len(order)
    shared = tiles % blocks if p["WORKERS"] else 0
    if 0 < 2 * shared < blocks < tiles:
        shared += blocks
    sharers = min(blocks, max(shared * rounds, 1))
    lengths = [len(part) for part in np.array_split(np.arange(shared * rounds), sharers)]
    cuts = set(np.cumsum(lengths).tolist())
    if kernel.file == "reduce_scatter":
        cuts = {block * shared * rounds // sharers for block in range(sharers + 1)}
    C = np.full((M, N), np.nan, np.float32)
    for number, (y, x) in enumerate(order):
        inner = [r for r in range(1, rounds) if number < shared and number * rounds + r in cuts]
        edges = [0, *(K - (rounds - r) * BK for r in inner), K]
        rows, columns = slice(y * BM, (y + 1) * BM), slice(x * BN, (x + 1) * BN)
        parts = [in_slices(A[rows], B[:, columns], range(a, b), p["SLICES"], BK) for a, b in itertools.pairwise(edges)]
        share = parts_of_a_team(kernel, len(parts)) if kernel.file == "reduce_scatter" else len(parts)
        teams = (functools.reduce(np.add, parts[i : i + share]) for i in range(0, len(parts), share))
        C[rows, columns] = functools.reduce(np.add, teams)
    return C


def parts_of_a_team(kernel, parts):
    """`reduce_scatter`: how many parts of a tile a team of threads adds, where there are more threads than sums."""
    sums = -(-(kernel.params["BM"] * kernel.params["BN"] // 4) // parts)
    teams = min(kernel.threads // sums, -(-parts // 8), 32)
    return -(-parts // 2 ** (max(teams, 1).bit_length() - 1))


def in_clusters(kernel, A, B):
    """`clustered`: the sum of the parts of the blocks of a cluster, each of which has equally many rounds of BK."""
    p, K = kernel.params, A.shape[1]
    rounds = -(-K // p["BK"])
    ends = [K - (rounds - block * rounds // p["CLUSTER"]) * p["BK"] for block in range(p["CLUSTER"] + 1)]
    parts = (in_slices(A, B, range(max(a, 0), max(b, 0)), p["SLICES"], p["BK"]) for a, b in itertools.pairwise(ends))
    return functools.reduce(np.add, parts)


def party_sums(parties, share, K, sum_of):
    """The sum of the parts of all parties, in their order."""
    return functools.reduce(np.add, (sum_of(range(i * share, min((i + 1) * share, K))) for i in range(parties)))


def halved(sums):
    """One half added to the other until one is left."""
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [sums[i] + sums[half + i] for i in range(half)]
    return sums[0]


def strips_in_order(kernel, A, B, aligned):
    """`vector_matrix`: a thread's k are ROWS apart, a team's threads add some threads' sums each, and those are halved.
    The blocks of a cluster follow, and teams of the clusters' parts."""
    p, (M, K), N = kernel.params, A.shape, B.shape[1]
    BN, threads = p["BN"], 32 * p["WARPS"]
    rows, team = 4 * threads // BN, min(threads // BN, 32)
    parties = kernel.grid(M, N)[0] // (-(-N // (BN if N % 4 == 0 else BN - 3)) * M)
    share = -(-K // parties)

    def by_a_team(parts):
        return halved(
            [functools.reduce(np.add, parts[member::team], np.zeros_like(parts[0])) for member in range(team)]
        )

    shares = [range(min(i * share, K), min((i + 1) * share, K)) for i in range(parties)]
    blocks = [by_a_team([chain(A, B, ks[own::rows]) for own in range(rows)]) for ks in shares]
    size = p["CLUSTER"]
    clusters = [functools.reduce(np.add, blocks[i : i + size]) for i in range(0, parties, size)]
    return by_a_team(clusters) if len(clusters) > 1 else clusters[0]


def rows_in_order(kernel, A, B, aligned):
    """`matrix_vector`: every row has its own way, by how many of its floats lie before a multiple of 16 bytes."""
    K = A.shape[1]
    heads = [min(-(row * K + (not aligned)) % 4, K) for row in range(len(A))]
    return np.concatenate(
        [row_in_order(kernel, A[row : row + 1], B, len(A), head, aligned) for row, head in enumerate(heads)]
    )


def row_in_order(kernel, A, B, M, head, aligned):
    """One row of `matrix_vector`: behind `head` of its floats, a lane's k are groups of four 32 groups apart.

    Then the first lanes of the first party add what is before and behind the groups, and the lanes' sums are halved.
    Of a vector B that starts where the row does, but not at the same place of 16 bytes, a group reads up to three
    floats more, so that there is one group less.
    """
    p, K, N = kernel.params, A.shape[1], B.shape[1]
    reserve = 4 if N == 1 and aligned and head else 0
    fours = max(K - head - reserve, 0) // 4 * 4
    parties = kernel.grid(M, N)[0] // (-(-M // p["BM"]) * N)
    share = ((K - 1) // parties // 128 + 1) * 128

    def of_party(ks):
        lanes = [[head + k for k in ks if k < fours and k // 4 % 32 == lane] for lane in range(32)]
        if 0 in ks:
            alone = [lane if lane < head else fours + lane for lane in range(32)]
            lanes = [own + [k] * (k < K) for own, k in zip(lanes, alone, strict=True)]
        return halved([chain(A, B, own) for own in lanes])

    return party_sums(parties, share, K, of_party)


def is_product(kernel, result, A, B, aligned=True):
    """Whether these are the bits of A times B as the kernel adds it up."""
    return np.array_equal(result, products_in_order(kernel, A, B, aligned))


@every_kernel
def test_c_has_the_bits_of_fmas_in_k_order_whatever_c_held(name):
    kernel = smaller(name)
    for shape in SHAPES:
        A, B, C = random_matrices(*shape)
        C[:] = np.nan
        assert is_product(kernel, launched(kernel, A, B, C), A, B), shape


@every_kernel
def test_alpha_and_beta_scale_the_product_and_what_was_in_c(name):
    A, B, C = random_matrices(45, 38, 23, seed=1)
    expected = -1.75 * (A.astype(np.float64) @ B) + 0.3 * C.astype(np.float64)
    error = np.abs(launched(smaller(name), A, B, C, alpha=-1.75, beta=0.3) - expected).max()
    assert error < 1e-5 * np.sqrt(23)


@pytest.mark.table(keep=4)
@every_kernel
def test_the_defaults_compute_the_same_bits(name):
    A, B, C = random_matrices(130, 257, 19, seed=2)
    assert is_product(get(name), launched(get(name), A, B, C), A, B)


@every_kernel
def test_nan_and_infinity_stay_in_their_row_and_column(name):
    """Nothing that a tile loads from beyond an edge may reach an element that has no business with it."""
    A, B, C = random_matrices(37, 41, 13, seed=3)
    A[36, 12], B[12, 40] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        result, expected = launched(smaller(name), A, B, C), A @ B
    assert np.array_equal(np.isfinite(result), np.isfinite(expected))
    assert np.isfinite(result[:36, :40]).all() and not np.isfinite(result[36]).any()


@every_kernel
def test_matrix_not_aligned_to_16_bytes_is_multiplied_right(name):
    A, B, C = random_matrices(36, 44, 20, seed=4)
    result = view(C, 1)
    launch(smaller(name), view(A, 1), view(B, 1), result)
    assert is_product(smaller(name), result, A, B, aligned=False)
    assert np.isnan(result.base).sum() == result.base.size - result.size


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("name", ["clustered", "persistent", "reduce_scatter"])
def test_kernel_compiled_for_some_rows_is_right_for_all(name):
    whole = get(name, **SMALLER["reduce_scatter" if name == "persistent" else name])
    kernels = [whole.for_rows(N) for N in (44, 42, 43)]
    assert kernels[0] == whole and [kernel.widest for kernel in kernels] == [0, 2, 1]
    code = []
    for kernel in kernels:
        function = compiled(kernel)
        code.append(len(function.compiled.cubin))
        for N in (44, 42, 43):
            A, B, C = random_matrices(36, N, 90, seed=4)
            C[:] = np.nan
            assert np.allclose(launched(kernel, A, B, C, function=function), A @ B, atol=1e-4)
    assert code[2] < 0.7 * code[1] < 0.7 * 0.8 * code[0]


@pytest.mark.parametrize("name", ["clustered", "persistent", "reduce_scatter"])
def test_kernel_compiled_for_some_rows_is_right_at_any_alignment(name):
    M, N, K = 36, 42, 20
    kernel = get(name, **SMALLER["reduce_scatter" if name == "persistent" else name]).for_rows(N)
    function = compiled(kernel)
    A, B, C = random_matrices(M, N, K, seed=4)
    for starts in [(4, 4, 4), (4, 1, 4), (4, 4, 1), (1, 2, 2), (3, 3, 2), (2, 2, 3)]:
        a, b, c = map(view, (A, B, C), starts)
        launch(kernel, a, b, c, function=function)
        assert np.allclose(c, A @ B, atol=1e-4), starts
        assert np.isnan(c.base).sum() == c.base.size - c.size


@pytest.mark.parametrize("cluster", [1, 4])
@pytest.mark.parametrize(
    "shape", [(1, 64, 1500), (1, 61, 1501), (2, 30, 1333), (1, 29, 1000), (1, 3, 777), (1, 5, 130)]
)
def test_vector_matrix_multiplies_many_rows_wherever_they_start(shape, cluster):
    """Sixteen bytes at a time, but not beyond the end of B, which the simulator would notice."""
    kernel = smaller("vector_matrix").replace(CLUSTER=cluster, WORKERS=4)
    A, B, C = random_matrices(*shape, seed=9)
    C[:] = np.nan
    assert is_product(kernel, launched(kernel, A, B, C), A, B)


def test_vector_matrix_loads_four_floats_at_any_alignment():
    """A strip has 29 columns instead of 32, and all its rows but the last one are loaded as those that start alike."""
    loads = []
    for N in (32, 29):
        A, B, C = random_matrices(1, N, 16 * 32 + 1, seed=9)
        with gpusim.record() as recording:
            launched(smaller("vector_matrix").replace(CLUSTER=1, WORKERS=1), A, B, C)
        loads.append(recording.counters["smsp__sass_inst_executed_op_global_ld.sum"])
    assert loads[0] == loads[1]


def test_matrix_vector_loads_four_floats_at_any_alignment():
    """With single loads there are four times as many as where all rows start at 16 bytes."""
    loads = []
    for K in (1024, 1023):
        A, B, C = random_matrices(64, 1, K, seed=5)
        with gpusim.record() as recording:
            launched(smaller("matrix_vector"), A, B, C)
        loads.append(recording.counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"])
    assert loads[1] < 2 * loads[0]


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 6, 7, 8, 130, 131, 259, 513])
def test_a_vector_is_read_as_the_row_that_it_is_multiplied_with(K):
    """The rows start at every place of 16 bytes, the vector at one: in memory, and with k too few for a whole group."""
    kernel = smaller("matrix_vector")
    A, B, C = random_matrices(9, 1, K, seed=7)
    assert is_product(kernel, launched(kernel, A, B, C), A, B)


def recorded(kernel, M, N, K):
    """The counters of a launch."""
    A, B, C = random_matrices(M, N, K)
    with gpusim.record() as recording:
        launched(kernel, A, B, C)
    return recording.counters


def test_rank_k_has_room_for_sums_larger_than_its_tiles():
    """16 x 32 sums are 512 floats, four k of the tiles 208: a block that had only those would write beyond its memory,
    at every shape, because all threads store their sums, those beyond an edge of C, too."""
    kernel = get("rank_k", BM=16, BN=32, BK=4, TM=4, TN=4, BLOCKS=2)
    A, B, C = random_matrices(1, 1, 1)
    assert is_product(kernel, launched(kernel, A, B, C), A, B)


def test_rank_k_copies_only_what_exists_aligned_rows_by_16_bytes():
    kernel, copies = get("rank_k"), "smsp__sass_inst_executed_op_ldgsts_cache_{}.sum"
    even, odd = (recorded(kernel, 128, N, 17) for N in (128, 127))
    warps_of_a = 2 * 2 * 64 * 24 // 32  # four tiles, and lanes for three times eight k
    assert even[copies.format("bypass")] == 2 * 2 * -(-17 * 64 // 4 // 32)
    assert even[copies.format("access")] == warps_of_a
    assert odd[copies.format("bypass")] == 0
    assert odd[copies.format("access")] == warps_of_a + 2 * 2 * 17 * 64 // 32


@pytest.mark.parametrize("N", [128, 127], ids=["rows at 16 bytes", "odd rows"])
def test_rank_k_stores_to_shared_memory_without_bank_conflicts(N):
    """A sum is stored with three others by a thread: a warp moves 512 bytes, 128 at a time."""
    counters = recorded(get("rank_k"), 128, N, 40)
    stores = counters["smsp__sass_inst_executed_op_shared_st.sum"]
    assert stores == 4 * 8 * 4  # four tiles, whose threads have eight rows of one group each, in four warps
    assert counters["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == 4 * stores
    assert counters["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts_cache_access.sum"] == 0


# ---- blocks that share the work for a tile


def test_the_sums_of_a_cluster_stay_in_its_shared_memory():
    """Nothing but C is written, and each sum of another block is read once, four by one instruction of a lane."""
    kernel, (M, N, K) = smaller("clustered"), (64, 96, 300)
    A, B, C = random_matrices(M, N, K)
    with gpusim.record() as recording:
        launched(kernel, A, B, C)
    counters, others = recording.counters, kernel.params["CLUSTER"] - 1
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == M * N * 4 // 32
    assert counters["smsp__sass_inst_executed_op_dshared_ld.sum"] == others * M * N // 4 // 32


@pytest.mark.parametrize(
    "shape",
    [(33, 65, 300), (64, 32, 16 * 4), (40, 31, 17), (32, 32, 5), (32, 30, 16 * 9)],
    ids=lambda shape: str(shape),
)
def test_a_cluster_shares_out_many_rounds_and_few(shape):
    """With fewer rounds than blocks some have none; the first round of the first one is the short one."""
    A, B, C = random_matrices(*shape, seed=8)
    C[:] = np.nan
    kernel = smaller("clustered")
    assert np.array_equal(launched(kernel, A, B, C), products_in_order(kernel, A, B))


def test_forgetting_a_block_of_a_cluster_changes_the_result():
    M, N, K = 33, 65, 300
    kernel, wrong = smaller("clustered").for_rows(N), ("block = 1; block < CLUSTER", "block = 2; block < CLUSTER")
    assert kernel.source.count(wrong[0]) == 1
    A, B, C = random_matrices(M, N, K, seed=8)
    result = launched(kernel, A, B, C, function=compiled(kernel, kernel.source.replace(*wrong)))
    assert not np.allclose(result, A @ B, atol=1e-2)


# By kernel: shapes with several parts a tile, with whole tiles beside shared ones, with fewer k than blocks could have.
SHARED = {
    "stream_k": [(33, 97, 90), (70, 131, 37), (40, 20, 7), (64, 200, 50), (300, 20, 40)],
    "producer": [(33, 97, 90), (70, 132, 37)],
    "vector_matrix": [(1, 72, 61), (1, 40, 3), (2, 36, 100), (12, 100, 20)],
    "matrix_vector": [(7, 1, 300), (3, 2, 5), (9, 1, 259), (50, 3, 20)],
    "reduce_scatter": [(33, 97, 90), (70, 131, 37), (40, 20, 7), (64, 200, 50), (30, 30, 700)],
}


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("name", SHARED)
def test_parts_of_a_tile_are_added_in_order_of_k(name, monkeypatch):
    """All blocks in step, or one after the other, or twice with what the first launch left behind: the same bits."""
    kernel = smaller(name)
    function = compiled(kernel)
    for shape in SHARED[name]:
        A, B, C = random_matrices(*shape, seed=6)
        C[:] = np.nan
        expected = products_in_order(kernel, A, B)
        assert np.array_equal(launched(kernel, A, B, C, function=function), expected), shape
        with monkeypatch.context() as one_by_one:
            one_by_one.setattr(engine, "LANES_PER_WAVE", 1)
            assert np.array_equal(launched(kernel, A, B, C, function=function), expected), shape


IMPATIENT = ("PATIENCE = 200", "PATIENCE = 0")  # blocks that go at once if others have not arrived


@pytest.mark.parametrize("lanes", [engine.LANES_PER_WAVE, 1], ids=["in step", "one by one"])
def test_many_parts_are_added_by_teams_or_the_last_block_alone(lanes, monkeypatch):
    """The same bits, though one does alone what each does a stretch of otherwise, and counters that are 0 again."""
    M, N, K = 60, 31, 700
    kernel = smaller("reduce_scatter").replace(WORKERS=40).for_rows(N)
    assert kernel.source.count(IMPATIENT[0]) == 1
    monkeypatch.setattr(engine, "LANES_PER_WAVE", lanes)
    A, B, C = random_matrices(M, N, K, seed=9)
    assert parts_of_a_team(kernel, 20) < 20
    for source in (kernel.source, kernel.source.replace(*IMPATIENT)):
        function, workspace = compiled(kernel, source), empty_workspace(kernel)
        for _ in range(2):
            result = launched(kernel, A, B, C, function=function, workspace=workspace)
            assert np.array_equal(result, products_in_order(kernel, A, B))
            assert not workspace[0][2 * 40 * 32 * 32 :].any()


def test_the_last_block_adds_everything_if_others_have_gone():
    """It would be a stretch alone otherwise, and the rest of C would stay what it was."""
    M, N, K = SHARED["reduce_scatter"][0]
    kernel, wrong = smaller("reduce_scatter").for_rows(N), ("tile.begin = 0;", "")
    assert kernel.source.count(wrong[0]) == 1
    A, B, C = random_matrices(M, N, K, seed=6)
    for change, right in ((IMPATIENT, True), (wrong, False)):
        source = kernel.source.replace(*IMPATIENT).replace(*change)
        with gpusim.sanitize("off"):
            result = launched(kernel, A, B, C, function=compiled(kernel, source))
        assert np.array_equal(result, products_in_order(kernel, A, B)) == right


@pytest.mark.parametrize("name", SHARED)
def test_shapes_share_tiles_and_parts_differ_from_the_order_of_k(name):
    """Else the test above would be none of the sharing."""
    kernel = smaller(name)
    A, B, _ = random_matrices(*SHARED[name][0], seed=6)
    assert not np.array_equal(products_in_order(kernel, A, B), products_in_order(kernel.replace(WORKERS=1), A, B))


@pytest.mark.table(keep=3)
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("stream_k", ("block <= last_block; ++block", "block < last_block; ++block")),
        ("stream_k", ("if (last) arrived[tile] = 0;", "")),
        ("stream_k", ("parts[2 * blockIdx.x + (next > begin)]", "parts[2 * blockIdx.x]")),
        ("vector_matrix", ("i < clusters; i += TEAM", "i < clusters - 1; i += TEAM")),
        ("vector_matrix", ("if (last) arrived[strip] = 0;", "")),
        ("matrix_vector", ("if (last) arrived[group] = 0;", "")),
        ("reduce_scatter", ("block + j < end && columns > 0", "block + j + 1 < end && columns > 0")),
        ("reduce_scatter", ("atomicExch(&counters[0], 0), ", "")),
        ("reduce_scatter", ("2 * blockIdx.x + (mine.tile > first_tile)", "2 * blockIdx.x")),
    ],
)
def test_forgotten_part_or_stale_counter_changes_the_result(name, wrong, monkeypatch):
    M, N, K = SHARED[name][0]
    kernel = smaller(name).for_rows(N)
    assert kernel.source.count(wrong[0]) == 1
    function = compiled(kernel, kernel.source.replace(*wrong))
    A, B, C = random_matrices(M, N, K, seed=6)
    same = {"function": function, "workspace": empty_workspace(kernel)}
    with gpusim.sanitize("off"):
        with monkeypatch.context() as one_by_one:  # first, as then no parts are there from an earlier launch
            one_by_one.setattr(engine, "LANES_PER_WAVE", 1)
            results = [launched(kernel, A, B, C, **same)]
        results += [launched(kernel, A, B, C, **same) for _ in range(2)]
    assert not all(np.array_equal(result, products_in_order(kernel, A, B)) for result in results)
