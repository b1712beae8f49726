"""What chained products keep in shared memory: rows of a program, and what the steps on their way load."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.dialects.index_expr import Var, gathered
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import Axes, axes_of_exprs
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.chains import Chain
from .limits import Limits

MOST_STAGES = 3
"""Steps on their way or in use: four took as long where they were timed (docs/decisions/gpu-attention.md)."""


def stages_in_shared(
    func: FuncOp, chain: Chain, held: Mapping[int, int], tile: tuple[int, int], limits: Limits
) -> int:
    """Steps that are on their way or in use: as many as shared memory has room for."""
    stages = MOST_STAGES if limits.lanes == 32 else 2
    while stages > 1 and in_shared(func, chain, held, tile, stages, limits) > limits.shared * 1024:
        stages -= 1
    return stages


def in_shared(
    func: FuncOp,
    chain: Chain,
    held: Mapping[int, int],
    tile: tuple[int, int],
    stages: int,
    limits: Limits,
) -> int:
    """Bytes that a program keeps of its rows, and of what so many steps load: where warps have 64 lanes,
    factors alone wait in shared memory."""
    rows, step = tile
    kept = 2 * rows * sum(held[f.axis] for f in chain.inner)
    if limits.lanes != 32:
        return kept + stages * 2 * step * sum(held[f.axis] for f in chain.products)
    sizes = {**held, chain.row: rows, chain.along: step}
    found: dict[object, int] = {}
    stored = 0  # by each step: a store has another layout than the sums of matrix units
    for op in func.body.block.ops:
        if not isinstance(op, LoadOp | StoreOp) or chain.along not in (axes := axes_of_exprs(op.subscripts)):
            continue
        taken = bytes_of(element_type(op.buffer.type)) * prod(sizes.get(axis, 1) for axis in axes)
        if isinstance(op, LoadOp):
            found[_turned_alike(op, axes & held.keys()) if limits.of_groups else op] = taken
        else:
            stored = max(stored, taken)
    return kept + stages * sum(found.values()) + stored


def _turned_alike(load: LoadOp, held: Axes) -> object:
    """What is the same of loads of which `share-turned-loads` makes one."""
    if len(held) != 1 or load.dynamic or load.mask is not None:
        return load
    column = {Var("d", axis): gathered(0) for axis in held}
    return load.buffer, *(expr.substitute(column) for expr in load.subscripts)
