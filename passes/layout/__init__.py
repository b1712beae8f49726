"""Passes that choose how tensors lie in memory."""
