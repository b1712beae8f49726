"""Blocks of tiles, for GPUs: their choice, and how they are written."""
