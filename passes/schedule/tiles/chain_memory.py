"""What chained products keep in shared memory: rows of a program, and what the steps on their way load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import arith

from tilewright.dialects.index_expr import Var, gathered
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.chains import Chain, Factors
from .limits import Limits

MOST_STAGES = 3
"""Steps of which more on their way gave nothing (docs/decisions/gpu-attention.md)."""


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
    factors = 2 * step * sum(held[f.axis] for f in _brought(chain, limits))
    others = 0
    for op in func.body.block.ops:
        axes = axes_of_exprs(op.subscripts) if isinstance(op, LoadOp) else frozenset[int]()
        if limits.lanes == 32 and isinstance(op, LoadOp) and chain.along in axes and axes.isdisjoint(held):
            others += bytes_of(element_type(op.buffer.type)) * step * (rows if chain.row in axes else 1)
    return kept + stages * (factors + others)


def _brought(chain: Chain, limits: Limits) -> Iterable[Factors]:
    """The factors that a step brings: those that two products take both ways round are one
    (`share-turned-loads`)."""
    if not limits.of_groups:
        return chain.products
    found: dict[object, Factors] = {}
    for f in chain.products:
        load = f.right.owner
        while isinstance(load, arith.ExtFOp):
            load = load.input.owner
        key: object = f
        if isinstance(load, LoadOp) and not load.dynamic and load.mask is None:
            column = {Var("d", f.axis): gathered(0)}
            key = load.buffer, *(expr.substitute(column) for expr in load.subscripts)
        found.setdefault(key, f)
    return found.values()
