"""How tensors lie in memory: layouts and their orders, which ops are views, what calls and callers want."""
