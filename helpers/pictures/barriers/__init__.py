"""What a barrier is good for: the shared-memory kernel without its first or its second __syncthreads()."""
