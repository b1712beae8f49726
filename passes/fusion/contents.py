"""What fusion asks of a kernel's body, gathered in one walk."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.kernels import KernelOp

from .body import reduced_axes


@dataclass(frozen=True)
class Contents:
    """Holds until the body is changed."""

    loads: tuple[LoadOp, ...]
    stores: tuple[StoreOp, ...]
    reduced: frozenset[int]
    """Every axis that some op reduces or scans."""
    uniform: bool
    """All that reduce do so over the same axes."""
    scans: bool


def contents_of(kernel: KernelOp) -> Contents:
    """One walk over the body."""
    loads: list[LoadOp] = []
    stores: list[StoreOp] = []
    over: dict[tuple[int, ...], None] = {}
    scans = False
    for op in kernel.body.block.ops:
        if type(op) is LoadOp:
            loads.append(op)
        elif type(op) is StoreOp:
            stores.append(op)
        elif axes := reduced_axes(op):
            over[axes] = None
            scans = scans or type(op) is ScanOp
    reduced = frozenset(axis for axes in over for axis in axes)
    return Contents(tuple(loads), tuple(stores), reduced, len(over) <= 1, scans)
