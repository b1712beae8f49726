"""A fused squared ReLU for tilewright; see README.md."""
