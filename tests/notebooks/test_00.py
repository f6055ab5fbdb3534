"""Notebook 00: the numbers in its prose are right, and its terms are in the glossary."""

from helpers import devices
from tests.notebooks.support import linked_terms, said


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"host", "device", "kernel", "threads", "blocks", "grid", "launch", "warp", "simulated"}
    assert terms <= linked_terms("00")


def test_the_thread_of_the_example_has_the_element_that_is_said():
    thread, block, number, threads, added, element = said(
        "00", r"Thread (\d+) of block (\d+) computes (\d+) · (\d+) \+ (\d+) = (\d+)"
    )
    assert (block, thread) == (number, added) and number * threads + added == element


def test_the_limits_in_words_are_those_of_the_table():
    assert {limits.max_block for limits in devices.LIMITS.values()} == {
        said("00", r"(\d+) along x, (\d+) along y, (\d+) along z")
    }
    assert {limits.max_threads_per_block for limits in devices.LIMITS.values()} == {1024}
