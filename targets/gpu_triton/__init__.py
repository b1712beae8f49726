"""GPUs: scheduled kernels as Triton text, and what compiles, launches and checks it."""
