"""Where do the cycles go? One stacked bar per kernel: FMAs, other instructions, what is waited for, no warp."""
