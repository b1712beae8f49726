"""Reductions across kernels: where terms are summed, in how many parts, which statistics are stored."""
