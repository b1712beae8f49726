"""Tensor ops to kernels, and kernels to fewer kernels."""
