"""Rewrites of one outlined function each: its axes, its arithmetic, its loads."""
