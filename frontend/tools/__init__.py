"""Command-line tools on IR, and the generators of reference pages."""
