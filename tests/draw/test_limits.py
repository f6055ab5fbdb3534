"""The table of a GPU's limits."""

from helpers import devices
from helpers.draw.limits import limits_table


def test_the_table_has_what_the_device_says():
    device = devices.get("NVIDIA H200")
    table = limits_table(device)
    cells = dict(table.rows)
    assert cells["threads of a block"] == "1\u202f024"
    assert cells["of them along x, y, z at most"] == "1\u202f024 × 1\u202f024 × 64"
    assert cells["threads that the GPU holds at once"] == f"{132 * 2048:,}".replace(",", "\u202f")
    assert cells["most float operations a second"] == "66\u202f908\u00a0GFLOPS"
    assert "NVIDIA H200" in table.caption and "270\u202f336" in table.caption


def test_launch_limits_come_first_and_are_parted_from_the_machine():
    one, other = (limits_table(devices.get(name)) for name in ("NVIDIA H200", "Tesla T4"))
    (rule,) = one.begins
    assert one.rows[:rule] == other.rows[:rule]
    assert one.rows[rule:] != other.rows[rule:]
