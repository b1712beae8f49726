"""ATen operations as simpler ones: a table, and what is written out for it in tensor functions."""
