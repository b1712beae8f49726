"""Run Triton text with no GPU: kernels on CPU tensors, and whole plans with every launch emulated."""

from __future__ import annotations

from .emulator.graph import run_graph
from .emulator.programs import Emulator

__all__ = ["Emulator", "run_graph"]
