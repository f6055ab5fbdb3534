"""Which lines of the ladder's kernels warps wait before, and for what, by the sampler of Nsight Compute.

    python -m helpers.measure.counters cubins …    the course's machine code (see `write_cubins`), on any machine
    python -m helpers.measure.lines FOLDER         on a GPU with ncu: write FOLDER/lines.csv.gz from those files
    python -m helpers.measure.lines keep FILE      on any machine: recordings/<gpu>/lines.json of that file

ncu names instructions, not lines: which line an instruction belongs to, the course's compiler says where the samples
are kept. So what is profiled has to be its machine code.
"""
