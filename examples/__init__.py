"""Complete programs that use `torch.compile(backend="mlir")`."""
