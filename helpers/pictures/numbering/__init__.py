"""In which order do the threads of a block line up? Each layer z of a block, with every thread's linear id and warp."""
