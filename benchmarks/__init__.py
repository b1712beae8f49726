"""Models, timing and reports: `make demo` and `make bench`."""
