"""Executes Triton text on CPU tensors: all programs at once, every access checked."""
