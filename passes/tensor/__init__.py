"""Clean-up passes on tensors: folding, merging, removing, simplifying views."""
