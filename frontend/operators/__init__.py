"""Operators of ours, registered with torch: for what ATen has no operator that says as much."""
