"""Export of tensor graphs to linalg on tensors, which other MLIR stacks read."""
