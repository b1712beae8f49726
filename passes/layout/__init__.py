"""How tensors lie in memory, as passes choose it: orders of dimensions, packed weights, what is frozen."""
