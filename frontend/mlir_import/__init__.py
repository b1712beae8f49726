"""Reads linalg and StableHLO text as modules of `tw`."""
