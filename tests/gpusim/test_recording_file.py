"""Recordings in files: what was recorded is what is loaded, with nothing but the file."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.launch import OPTIONS
from gpusim.counters import file as recording_file
from helpers import run
from helpers.measure import problem

SHAPE = (70, 66, 20)


def record(name="wide_copies", level="sass", **options) -> gpusim.Recording:
    kernel = get(name)
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    launch = run.launcher(kernel, module.get_function(kernel.entry))
    with gpusim.record(level=level, checks="raise", **options) as recording:
        launch(*SHAPE, 1.25, *problem(*SHAPE)[:2], 0.0, np.zeros(SHAPE[:2], np.float32))
    return recording


@pytest.fixture(scope="module", params=[("wide_copies", "sass"), ("naive", "ptx")], ids=lambda parameter: parameter[0])
def fresh(request) -> gpusim.Recording:
    return record(
        *request.param, blocks=[(0, 0), (0, 1)] if request.param[0] == "naive" else "all", unique_sectors=True
    )


@pytest.fixture
def saved(fresh, tmp_path):
    return fresh.save(tmp_path / "launch.npz")


def test_everything_that_can_be_asked_is_answered_as_before(fresh, saved):
    loaded = gpusim.load(saved)
    assert loaded.counters == fresh.counters
    assert loaded.by_line() == fresh.by_line()
    assert loaded.by_instruction() == fresh.by_instruction()
    assert loaded.source == fresh.source
    assert repr(loaded) == repr(fresh)
    assert (loaded.checks, str(loaded.checks)) == (fresh.checks, str(fresh.checks))
    assert loaded.total("sectors", "global", "ld", "A") == fresh.total("sectors", "global", "ld", "A") > 0
    assert loaded.instructions("FFMA", threads=True) == fresh.instructions("FFMA", threads=True)
    assert loaded.unique_sectors("A") == fresh.unique_sectors("A") > 0
    for level in ("ptx", "sass"):
        assert loaded.listing(level) == fresh.listing(level)


def test_requests_are_the_same_in_every_field(fresh, saved):
    loaded = gpusim.load(saved)
    for warp in (0, None):
        before, after = (recording.requests(warp=warp) for recording in (fresh, loaded))
        assert len(before) > 10 and before.dtype == after.dtype
        for name in before.dtype.names:
            assert np.array_equal(before[name], after[name]), name


def test_block_without_addresses_is_missed_after_loading_too(tmp_path):
    loaded = gpusim.load(record("naive", "ptx").save(tmp_path / "first.npz"))
    with pytest.raises(gpusim.SimulatorError, match=r"The addresses of block \(1, 0, 0\) were not kept"):
        loaded.requests(block=1)


def test_facts_of_the_launch_and_of_the_compiler_are_kept(fresh, saved):
    launch = gpusim.load(saved).launches[-1]
    assert launch.facts == fresh.launches[-1].facts
    assert (launch.facts.arch, launch.facts.options) == ("sm_90", OPTIONS)
    assert launch.facts.compiler_version >= (12, 0)


def test_a_loaded_recording_can_be_saved_again(fresh, saved, tmp_path):
    again = gpusim.load(gpusim.load(saved).save(tmp_path / "again.npz"))
    assert again.counters == fresh.counters and again.listing("sass") == fresh.listing("sass")


def test_neither_compiler_nor_nvdisasm_is_needed_to_read(saved):
    code = (
        "import sys\n"
        "from gpusim import compiler; import gpusim\n"
        "def none(*args, **kwargs): raise AssertionError('called')\n"
        "compiler.compile = compiler.compile_module = compiler.disassemble = none\n"
        "compiler.ptx_by_line = compiler.sass_by_line = none\n"
        "recording = gpusim.load(sys.argv[1])\n"
        "assert recording.counters and recording.by_line() and recording.listing('sass')\n"
        "assert len(recording.requests())\n"
        "heavy = {'cupy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_sampled_recordings_say_so_after_loading_too(tmp_path):
    recording = record("coalesced", blocks="sampled", unique_sectors=True)
    loaded = gpusim.load(recording.save(tmp_path / "sampled.npz"))
    assert loaded.sampled == recording.sampled and "Sampled: " in repr(loaded)
    assert loaded.counters == recording.counters
    assert loaded.unique_sectors(per="block") == recording.unique_sectors(per="block")


def test_findings_of_the_sanitizer_are_kept(tmp_path):
    source = """extern "C" __global__ void kernel(float *x) {
        __shared__ float s[64];
        s[threadIdx.x] = threadIdx.x;
        x[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record(checks="report") as recording:
        kernel((1,), (64,), (np.zeros(64, np.float32),))
    loaded = gpusim.load(recording.save(tmp_path / "race.npz"))
    assert len(loaded.checks.findings) == 1 and loaded.checks == recording.checks


def test_unsaved_machine_code_is_missed_in_a_sentence(tmp_path, request):
    recording = record("naive", "ptx")
    request.getfixturevalue("no_machine_code")
    recording.launches[-1].listings.clear()
    loaded = gpusim.load(recording.save(tmp_path / "no_sass.npz"))
    assert loaded.listing("ptx") and loaded.listing() == loaded.listing("ptx")
    with pytest.raises(gpusim.SimulatorError, match="was saved without the SASS of sgemm_naive: nvdisasm was missing"):
        loaded.listing("sass")
    with pytest.raises(gpusim.SimulatorError, match="choose 'ptx' or 'sass'"):
        loaded.listing("cubin")


# ---- files that are not recordings


def refused(path) -> str:
    with pytest.raises(gpusim.SimulatorError) as caught:
        gpusim.load(path)
    return str(caught.value)


def test_what_is_no_recording_is_refused_in_a_sentence(tmp_path):
    assert "There is no file" in refused(tmp_path / "none.npz")
    assert "is a folder" in refused(tmp_path)
    text = tmp_path / "text.npz"
    text.write_text("not a zip archive")
    assert "is not a recording" in refused(text) and "recording.save(path)" in refused(text)
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    assert "it has no header" in refused(tmp_path / "other.npz")
    np.save(tmp_path / "array.npy", np.ones(3))
    assert "is not a recording" in refused(tmp_path / "array.npy")
    np.savez(tmp_path / "pickled.npz", header=np.array([{"format": "x"}], object))
    assert "is not a recording" in refused(tmp_path / "pickled.npz")


def test_a_damaged_or_shortened_file_is_refused(saved, tmp_path):
    whole = saved.read_bytes()
    cut = tmp_path / "cut.npz"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "is not a recording" in refused(cut)
    for position in (len(whole) // 3, len(whole) // 2, 100):
        changed = bytearray(whole)
        changed[position : position + 8] = bytes(255 - byte for byte in changed[position : position + 8])
        cut.write_bytes(changed)
        assert "is not a recording" in refused(cut)


def test_another_format_is_refused_with_what_to_do(saved, tmp_path):
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files}
    content = json.loads(arrays["header"].tobytes())
    for change, sentence in (
        ({"version": recording_file.VERSION + 1}, "Update the course (git pull), or record the launch again."),
        ({"format": "something else"}, "its header is another one"),
        ({"launches": [{}]}, "is not a recording"),
    ):
        arrays["header"] = np.frombuffer(json.dumps(content | change).encode(), np.uint8)
        np.savez(tmp_path / "changed.npz", **arrays)
        assert sentence in refused(tmp_path / "changed.npz")


def test_a_recording_is_saved_whole_as_npz_or_not_at_all(fresh, tmp_path):
    with pytest.raises(gpusim.SimulatorError, match=r"should be called launch\.npz"):
        fresh.save(tmp_path / "launch.json")
    with pytest.raises(gpusim.SimulatorError, match="was not saved to"):
        fresh.save(tmp_path / "no such folder" / "launch.npz")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(gpusim.SimulatorError, match="no kernel was launched"):
        gpusim.Recording("ptx").save(tmp_path / "launch.npz")
