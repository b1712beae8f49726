"""Shrinks a module that fails to one that a person can read, and that fails in the same way."""
