"""Notebook 03: its numbers are those of the recorded addresses, its claims those of the recordings."""

import numpy as np

from helpers.simulator.recording import counting
from tests.notebooks.support import counters, gain, linked_terms, said


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"request", "sectors", "broadcast", "coalesced", "cache lines", "tag"}
    assert terms <= linked_terms("03")


def test_two_lines_of_code_cost_a_factor_of_ten():
    assert gain("coalesced", "naive", 4096) + 1 > 10


def test_both_kernels_make_as_many_requests_and_the_naive_one_costs_more_sectors():
    naive, coalesced = counters("naive"), counters("coalesced")
    requests, sectors = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum" for what in ("requests", "sectors"))
    assert naive[requests] == coalesced[requests] and naive[sectors] > 4 * coalesced[sectors]


def test_a_row_that_begins_inside_a_sector_reaches_into_a_fifth_one():
    addresses = 4 + 4 * np.arange(32, dtype=np.int64)
    found = int(counting.sectors(addresses[None, :], np.ones((1, 32), bool), 4)[0])
    assert said("03", r"How many sectors\?</summary>(\w+):") == (found,)
