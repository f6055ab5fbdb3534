"""What a GPU has and what a launch may ask of it, as a table."""

from __future__ import annotations

from helpers.devices import Device
from helpers.draw import theme
from helpers.draw.tables import Table


def limits_table(device: Device) -> Table:
    """First what a launch may ask for, which is the same on every GPU of the course, then what this GPU has."""
    block, grid = (" × ".join(map(theme.thousands, sizes)) for sizes in (device.max_block, device.max_grid))
    launch = (
        ("threads of a block", theme.thousands(device.max_threads_per_block)),
        ("of them along x, y, z at most", block),
        ("blocks of a grid along x, y, z at most", grid),
    )
    resident = device.sms * device.threads_per_sm
    machine = (
        ("streaming multiprocessors (SMs)", theme.thousands(device.sms)),
        ("threads that an SM holds at once", theme.thousands(device.threads_per_sm)),
        ("threads that the GPU holds at once", theme.thousands(resident)),
        ("multiply-adds that an SM does in a clock cycle", theme.thousands(device.fp32_lanes_per_sm)),
        ("clock", f"{theme.thousands(device.clock_mhz)}\u00a0MHz"),
        ("most float operations a second", f"{theme.thousands(device.peak_fp32_gflops)}\u00a0GFLOPS"),
        ("memory delivers in a second", f"{theme.thousands(device.memory_gb_per_s)}\u00a0GB"),
    )
    caption = (
        f"{device.name}, architecture {device.arch}: a block has up to "
        f"{theme.plural(device.max_threads_per_block, 'thread')}, the GPU holds {theme.thousands(resident)} at once."
    )
    return Table(("", device.name), (*launch, *machine), caption, begins=frozenset({len(launch)}))
