"""Loop nests of scalars and vectors, for CPUs: their choice, and how they are written."""
