"""Tensors to a host plan: buffers, launches, library calls, memory."""
