"""CuPy's calling convention: arrays, modules, and what surrounds a launch."""

from gpusim.compiler import nvrtc

nvrtc.prepare()  # it gets ready while the rest is imported
