"""Notebooks 00 to 02 and the glossary: their terms are explained, and the numbers in their prose are right."""

import re
from pathlib import Path

import pytest

from gemm_kernels import get
from helpers import devices, plan
from helpers.authoring.notebooks import form
from helpers.models import roofline, traffic

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
ROWS = [
    tuple(re.sub(r"^\[(\d\d)\]\(.*", r"\1", cell.strip()) for cell in line.strip("|").split("|"))
    for line in (FOLDER / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|")
][2:]
H200, H20, ADA = (devices.get(name) for name in ("NVIDIA H200", "NVIDIA H20", "RTX 6000 Ada"))


def text_of(number: str) -> str:
    """All text of a notebook, sources and stored outputs, on one line."""
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    return " ".join(path.read_text(encoding="utf-8").replace("\\n", " ").split())


def prose(number: str) -> str:
    """The Markdown of a notebook, on one line."""
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = form.read(path.read_text(encoding="utf-8")).cells
    return " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())


def known(term: str) -> bool:
    """Whether the glossary has this term, perhaps in the singular."""
    terms = {one.lower() for row in ROWS for one in row[0].split(", ")}
    return term.lower() in terms or term.lower().removesuffix("s") in terms


# --- the glossary


def test_every_term_that_a_notebook_links_is_in_the_glossary():
    found = {
        path.name: re.findall(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md\)", prose(path.name[:2]))
        for path in sorted(FOLDER.glob("*.ipynb"))
    }
    assert all(len(found[name]) >= 8 for name in found if name[:2] in ("00", "01", "02"))
    assert {(name, term) for name, terms in found.items() for term in terms if not known(term)} == set()


def test_the_glossary_is_in_alphabetical_order_and_each_row_is_a_sentence_with_its_notebook():
    names = [row[0].lower() for row in ROWS]
    assert names == sorted(names) and len(set(names)) == len(names)
    for term, sentence, number in ROWS:
        assert sentence.endswith(".") and number in plan.course().numbers, term


@pytest.mark.parametrize("number", ["00", "01", "02", "03"])
def test_the_notebook_that_a_term_is_said_to_be_explained_in_has_it(number):
    written = text_of(number).lower()
    terms = [one for row in ROWS if row[2] == number for one in row[0].split(", ")]
    assert [term for term in terms if term.lower().removesuffix(" on …") not in written] == []


# --- the prose of notebook 00


def test_the_thread_of_the_example_has_the_element_that_is_said():
    assert "Thread 5 of block 2 computes 2 · 256 + 5 = 517" in prose("00")
    assert 2 * 256 + 5 == 517


def test_the_limits_in_words_are_those_of_the_table():
    assert "**1024**" in prose("00") and "**1024 along x, 1024 along y, 64 along z**" in prose("00")
    assert {limits.max_block for limits in devices.LIMITS.values()} == {(1024, 1024, 64)}
    assert {limits.max_threads_per_block for limits in devices.LIMITS.values()} == {1024}


# --- the prose of notebook 01


def test_the_h20_bends_at_about_10_and_the_h200_at_14():
    assert "At about 10 FLOP a byte instead of 14." in prose("01")
    assert [round(roofline.ridge_point(device)) for device in (H20, H200)] == [10, 14]


def test_memory_is_the_limit_at_the_depth_that_is_said():
    assert "memory is the limit at K = 128 already. On the H200 even K = 32 is not small enough." in prose("01")

    def bound(device: devices.Device, K: int) -> str:
        return roofline.bound(device, traffic.compulsory(4096, 4096, K).intensity)

    assert [bound(ADA, K) for K in (256, 128)] == ["compute", "memory"] and bound(H200, 32) == "compute"


def test_arithmetic_is_the_longer_floor_on_every_gpu_of_the_table():
    assert "On every one of them arithmetic is the longer floor, by far." in prose("01")
    for name in ("A100 80GB", "RTX A6000", "RTX 6000 Ada", "H20", "H200"):
        floor = roofline.fastest_time(devices.get(name), 4096, 4096, 4096, beta=1.0)
        assert floor.compute_ms > 5 * floor.memory_ms


def test_the_coalesced_kernel_is_faster_than_what_it_asks_for_could_move():
    from helpers.measure import recordings

    kernel = get("coalesced")
    asked_ms = traffic.requested(kernel, 4096, 4096, 4096).total / H200.memory_gb_per_s / 1e6
    assert "It is *faster than its memory*!" in prose("01")
    assert recordings.gflops(kernel, 4096, 4096, 4096).median_ms < asked_ms / 2


# --- the prose of notebook 02


def test_half_full_warps_are_half_as_fast_to_within_a_few_percent():
    from helpers.measure import recordings

    assert "They are half as fast, to within a few percent." in prose("02")
    for x, y in ((2, 8), (4, 4), (8, 2), (16, 1)):
        half, full = (
            recordings.gflops(get("naive", block_x=x, block_y=h), 2048, 2048, 2048).gflops for h in (y, 2 * y)
        )
        assert 1.9 < full / half < 2.1


def test_warp_3_of_a_square_block_has_the_rows_that_are_said():
    assert "Ids 96 to 127: all x, with y = 6 and y = 7." in prose("02")
    assert {id // 16 for id in range(96, 128)} == {6, 7}
