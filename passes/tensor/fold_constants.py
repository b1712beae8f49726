"""Elementwise ops on literals, computed by the reference semantics in NumPy."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from .driver import Rewrite


def fold_constants(op: Operation, rw: Rewrite) -> SSAValue | None:
    return None
