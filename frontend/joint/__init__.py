"""Joint graphs of forward and backward: what is kept between them, what is computed again, and how."""
