"""Compiled graphs that later processes find: their keys, and what is kept."""
