"""The language server for `.mlir` files: `tilewright lsp`."""
