"""Tensor ops to kernels: a lowering per op family."""
