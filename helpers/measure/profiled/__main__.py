"""`python -m helpers.measure.profiled`: time and profile the small kernels; with names, launch these for ncu."""

import sys

from helpers.measure import profiled

if len(sys.argv) > 1:
    profiled.launch(*sys.argv[1:])
else:
    print(profiled.record())
