"""Scheduled kernels and the host plan as one C++ translation unit, compiled and loaded."""
