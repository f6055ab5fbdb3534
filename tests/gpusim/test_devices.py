"""Specifications of GPUs and the limits of a launch."""

import ast
from pathlib import Path

import pytest

from gpusim import devices
from gpusim.devices import DEVICES, LIMITS, UnknownDevice, launch_problem, most_threads

H200 = devices.get("NVIDIA H200")


def test_the_h200_has_the_values_that_the_driver_reports():
    assert H200.compute_capability == (9, 0)
    assert H200.arch == "sm_90"
    assert (H200.sms, H200.clock_mhz, H200.fp32_lanes_per_sm) == (132, 1980, 128)
    assert (H200.registers_per_sm, H200.threads_per_sm, H200.warps_per_sm, H200.blocks_per_sm) == (65536, 2048, 64, 32)
    assert H200.shared_bytes_per_sm == 233472
    assert H200.shared_bytes_per_block == 49152
    assert H200.shared_bytes_per_block_optin == 232448
    assert H200.reserved_shared_bytes_per_block == 1024
    assert H200.l2_bytes == 62914560


# What NVIDIA's datasheets and whitepapers state for FP32, in TFLOPS, to the digits given there.
@pytest.mark.parametrize(
    ("name", "tflops", "digits"),
    [
        ("NVIDIA H200", 67, 0),
        ("NVIDIA H100 80GB HBM3", 67, 0),
        ("NVIDIA A100-SXM4-80GB", 19.5, 1),
        ("NVIDIA A100-SXM4-40GB", 19.5, 1),
        ("NVIDIA RTX A6000", 38.7, 1),
        ("NVIDIA RTX 6000 Ada Generation", 91.1, 1),
        ("NVIDIA GeForce RTX 3090", 35.6, 1),
        ("NVIDIA GeForce RTX 4090", 82.6, 1),
        ("NVIDIA L40S", 91.6, 1),
        ("NVIDIA L4", 30.3, 1),
        ("Tesla T4", 8.1, 1),
        ("NVIDIA GeForce RTX 5090", 104.8, 1),
    ],
)
def test_peak_fp32_is_the_one_of_the_datasheet(name, tflops, digits):
    assert round(DEVICES[name].peak_fp32_gflops / 1000, digits) == tflops


def test_every_gpu_has_a_source_and_plausible_values():
    for name, device in DEVICES.items():
        assert device.name == name
        assert len(device.source) > 20
        assert 100 < device.memory_gb_per_s < 10_000
        assert 1000 < device.clock_mhz < 3000
        assert device.l2_bytes >= 4 * 1024**2
        assert LIMITS[device.arch].shared_bytes_per_sm == device.shared_bytes_per_sm


@pytest.mark.parametrize(
    ("arch", "threads", "blocks", "shared_bytes", "optin"),
    [  # CUDA C++ Programming Guide, technical specifications per compute capability
        ("sm_70", 2048, 32, 98304, 98304),
        ("sm_75", 1024, 16, 65536, 65536),
        ("sm_80", 2048, 32, 167936, 166912),
        ("sm_86", 1536, 16, 102400, 101376),
        ("sm_89", 1536, 24, 102400, 101376),
        ("sm_90", 2048, 32, 233472, 232448),
        ("sm_100", 2048, 32, 233472, 232448),
        ("sm_101", 1536, 24, 233472, 232448),
        ("sm_120", 1536, 24, 102400, 101376),
    ],
)
def test_limits_are_those_of_the_cuda_guide(arch, threads, blocks, shared_bytes, optin):
    limits = devices.limits_for(arch)
    assert (limits.threads_per_sm, limits.blocks_per_sm) == (threads, blocks)
    assert (limits.shared_bytes_per_sm, limits.shared_bytes_per_block_optin) == (shared_bytes, optin)
    assert limits.warps_per_sm * 32 == threads
    assert limits.shared_allocation_unit == (256 if arch in ("sm_70", "sm_75") else 128)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("h200", "NVIDIA H200"),
        ("H20", "NVIDIA H20"),
        ("nvidia h100", "NVIDIA H100 80GB HBM3"),
        ("a100 80gb", "NVIDIA A100-SXM4-80GB"),
        ("A6000", "NVIDIA RTX A6000"),
        ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
        ("rtx4090", "NVIDIA GeForce RTX 4090"),
        ("T4", "Tesla T4"),
        ("sm_90", "NVIDIA H200"),
        ("sm_90a", "NVIDIA H200"),
        ("sm_86", "NVIDIA RTX A6000"),
        ("rtx 5090", "NVIDIA GeForce RTX 5090"),
        ("sm_120", "NVIDIA GeForce RTX 5090"),
    ],
)
def test_a_gpu_is_found_however_its_name_is_written(written, name):
    assert devices.get(written).name == name


def test_an_unknown_gpu_is_answered_with_the_names_there_are():
    with pytest.raises(UnknownDevice) as raised:
        devices.get("GTX 1080")
    assert str(raised.value) == f"no GPU called 'GTX 1080' is in the table. It has: {', '.join(DEVICES)}."


def test_a_name_that_fits_two_gpus_is_answered_with_both():
    with pytest.raises(UnknownDevice) as raised:
        devices.get("A100")
    assert str(raised.value) == ("'A100' fits 2 GPUs: NVIDIA A100-SXM4-80GB, NVIDIA A100-SXM4-40GB. Say which one.")


def test_architecture_without_limits_is_answered_with_known_ones():
    with pytest.raises(UnknownDevice, match="the limits of 'sm_61' are not in the table. It has: sm_70, sm_75"):
        devices.limits_for("sm_61")


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes", "registers"),
    [
        ((1,), (1024,), 0, 64),
        ((2**31 - 1, 65535, 65535), (1024, 1, 1), 0, None),
        ([4, 4], [16, 16, 4], 0, 40),
        ((1,), (1, 1, 64), 232448, None),
        ((1,), (256,), 0, 255),
    ],
)
def test_a_launch_within_the_limits_has_no_problem(grid, block, shared_bytes, registers):
    assert launch_problem(H200, grid, block, shared_bytes, registers) is None


@pytest.mark.parametrize(
    ("grid", "block", "sentence"),
    [
        (
            (1,),
            (64, 64),
            "a block of 64 × 64 × 1 = 4096 threads is more than the 1024 that sm_90 allows; try (32, 32)",
        ),
        ((1,), (2048,), "a block of 2048 × 1 × 1 = 2048 threads is more than the 1024 that sm_90 allows; try (1024,)"),
        ((1,), (1, 1, 128), "the block's z is 128, more than the 64 that sm_90 allows"),
        ((0, 4), (32,), "the grid's x is 0; every dimension is at least 1, so that there is something to run"),
        ((1,), (32, -1), "the block's y is -1; every dimension is at least 1, so that there is something to run"),
        (
            (1, 65536),
            (32,),
            "the grid's y is 65536, more than the 65535 that sm_90 allows; only x may be larger (up to 2147483647)",
        ),
        ((2**31,), (32,), "the grid's x is 2147483648, more than the 2147483647 that sm_90 allows"),
        (
            (4.5,),
            (32,),
            "the grid's x is 4.5 of type float; expected a whole number. A division rounded up is written "
            "(n + b - 1) // b",
        ),
        ((1,), 32, "the block is 32; expected a tuple of one to three whole numbers, such as (16, 16)"),
        (
            (1, 1, 1, 1),
            (32,),
            "the grid is (1, 1, 1, 1); expected a tuple of one to three whole numbers, such as (64, 64)",
        ),
    ],
)
def test_a_wrong_shape_gets_a_sentence(grid, block, sentence):
    assert launch_problem(H200, grid, block) == sentence


def test_too_much_shared_memory_names_the_architectures_limit():
    assert launch_problem(LIMITS["sm_86"], (1,), (32,), 101377) == (
        "a block with 101377 bytes of shared memory is more than the 101376 that sm_86 allows; "
        "try a smaller tile or fewer stages"
    )


def test_over_48_kib_of_shared_memory_needs_the_kernels_consent():
    assert launch_problem(H200, (1,), (32,), 49152, opted_in=False) is None
    assert launch_problem(H200, (1,), (32,), 49153, opted_in=False) == (
        "a block with 49153 bytes of shared memory is more than the default 49152; sm_90 allows up to 232448 after "
        "kernel.max_dynamic_shared_size_bytes = 49153"
    )


def test_too_many_registers_are_answered_with_a_block_that_fits():
    assert launch_problem(H200, (1,), (32, 32), 0, 80) == (
        "a block of 32 × 32 × 1 = 1024 threads with 80 registers each needs 81920 registers, more than the 65536 of an "
        "SM; try (16, 32), or __launch_bounds__(1024) so that the compiler uses fewer"
    )


def test_registers_are_counted_in_whole_units_of_256_a_warp():
    # 65 registers × 32 lanes = 2080, handed out as 2304: 28 warps fit in 65536 registers, 32 do not.
    assert launch_problem(H200, (1,), (28 * 32,), 0, 65) is None
    assert "needs 73728 registers" in launch_problem(H200, (1,), (1024,), 0, 65)
    # Warps are counted in fours: 25 are taken as 28, which is one step too many at 80 registers.
    assert launch_problem(H200, (1,), (24 * 32,), 0, 80) is None
    assert "needs 71680 registers" in launch_problem(H200, (1,), (25 * 32,), 0, 80)


def test_largest_block_for_a_kernels_registers_is_the_drivers():
    # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK of kernels with these registers, on an H200.
    assert [most_threads(H200, registers) for registers in (8, 64, 96, 254)] == [1024, 1024, 640, 256]


def test_a_block_larger_than_the_launch_bounds_is_refused():
    assert launch_problem(H200, (1,), (32, 32), max_threads=256) == (
        "a block of 32 × 32 × 1 = 1024 threads is more than the 256 that the kernel was compiled for "
        "(__launch_bounds__); try (16, 16), or compile it for more"
    )


def test_carve_outs_ascend_to_all_the_shared_memory_of_an_sm():
    for limits in devices.LIMITS.values():
        assert list(limits.carve_outs) == sorted(set(limits.carve_outs))
        assert limits.shared_bytes_per_sm == limits.carve_outs[-1]
    assert devices.limits_for("sm_90").carve_outs[-2:] == (196 * 1024, 228 * 1024)


# --- the default GPU --------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
FACTS = {  # where an architecture or a number is meant, and not the default GPU
    "helpers/gpusim/src/gpusim/devices.py": "the table of GPUs, and which is the default",
    "gemm_kernels/choices.py": "the default of a package that uses nothing of helpers",
    "helpers/gpusim/src/gpusim/isa/sass/opcodes.py": "the architectures of a family",
    "helpers/gpusim/src/gpusim/arithmetic/tensor_core.py": "how many terms are added at once, by architecture",
    "helpers/gpusim/src/gpusim/isa/ptx/decoding/matrix.py": "whose FP8 and 4-bit products were recorded",
    "helpers/exercises/n11.py": "thread 132, of the fifth warp",
    "helpers/pictures/vector_width/explorer.py": "a stride of 132 floats",
    "helpers/tools/bench/explorers.py": "a stride of 132 floats",
    "helpers/tools/measuring/correctness.py": "a shape of 132 columns",
    "helpers/tools/measuring/fetched.py": "the blocks of launches that were recorded",
    "helpers/tools/measuring/calibrate.py": "the blocks of launches that were recorded, whose names have them",
    "helpers/tools/measuring/workloads/__init__.py": "the blocks of launches that were recorded",
    "helpers/gpusim/src/gpusim/isa/sass/operands.py": "whose machine code reads the sizes of a cluster from constants",
    "helpers/gpusim/src/gpusim/timing/machine.py": "the blocks of those launches, which their times are divided by",
}


def test_the_default_gpu_is_named_in_one_place():
    default = devices.DEFAULT
    naked = {default.name, default.short, default.arch, *(per_sm * default.sms for per_sm in (1, 2, 4))}
    blocks = {}
    for file in sorted(ROOT.glob("helpers/**/*.py")) + sorted(ROOT.glob("gemm_kernels/**/*.py")):
        constants = (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Constant))
        lines = [node.lineno for node in constants if isinstance(node.value, (str, int)) and node.value in naked]
        name = file.relative_to(ROOT).as_posix()
        if lines and name not in FACTS:
            blocks[name] = lines
    assert not blocks, "write devices.DEFAULT, and its name, arch or sms"
