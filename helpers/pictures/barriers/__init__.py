"""What a barrier is good for: the shared-memory kernel without its first or its second __syncthreads()."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
