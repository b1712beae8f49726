"""Matrix products that other kernels read: chains of them, what lies between, and whose job they are."""
