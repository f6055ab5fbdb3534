"""The control bits of machine code: what the compiler's scheduling says must fit what its instructions do."""

import re

from gemm_kernels import get
from gpusim.timing.machine_code import NUMBER
from helpers import cycles


def test_first_use_of_a_load_waits_for_its_scoreboard():
    trace = cycles.traced(get("naive").launch(32, 32, 32))
    rows, code = trace.instructions, trace.program.instructions
    waited = 0
    for load, row in zip(code, rows, strict=True):
        if row.unit != NUMBER["global_load"]:
            continue
        register = re.search(r"LDG\S* (R\d+)", load.text)[1]
        users = [i for i in range(load.index + 1, len(code)) if re.search(rf"\b{register}\b", code[i].text)]
        if users:
            assert row.write_scoreboard < 6
            between = range(load.index + 1, users[0] + 1)
            assert any(rows[i].wait >> row.write_scoreboard & 1 for i in between)
            waited += 1
    assert waited >= 4


def test_reads_count_each_bank_without_the_reuse_cache():
    trace = cycles.traced(get("vectorized").launch(128, 128, 8))
    rows = [row for row in trace.instructions if row.unit == NUMBER["fma"]]
    assert all(row.reads_even + row.reads_odd <= 3 for row in rows)
    assert sum(row.reads_even + row.reads_odd for row in rows) < 3 * len(rows)  # some operands are reused
