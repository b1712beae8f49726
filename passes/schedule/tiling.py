"""Where loops are cut into tiles: transposes, and sums over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp, ScanOp

from .body import Body, Reduction
from .cost import Costs, estimate, scatters
from .plan import Plan

_SQUARE = 32
"""Side of the tiles of a transpose: two cache lines, and as many pages as a TLB holds."""
_COLUMNS = 128
"""Columns that one thread sums: whole cache lines, several to prefetch."""
_PART = 32_768
"""Elements of a full reduction that one thread takes at a time."""
_ROWS = 256
"""Rows that are summed before their sum is added to that of the rows before."""


def tile_size(size: Expr, wanted: int, lanes: int) -> int | None:
    """About `wanted`, a divisor of the size if there is one; None where no tile is needed."""
    if size.constant is None:
        return wanted
    if size.constant <= wanted * 3 // 2:
        return None
    divisors = [n for n in range(wanted, wanted // 2, -lanes) if size.constant % n == 0]
    return divisors[0] if divisors else wanted


def with_square_tiles(plan: Plan, body: Body, space: Sequence[Expr], lanes: int) -> Plan:
    """Tile the vector axis and the one along which strided accesses are contiguous."""
    vector = plan.vector
    if vector is None or any(isinstance(op, Reduction) for op in body.ops):
        return plan
    across = _contiguous_axis(body, vector)
    if across is None or Costs(body, space, lanes).trips(range(len(space))) < 16_384:
        return plan
    if min(estimate(space[across]), estimate(space[vector])) < 16:
        return plan
    tiles: list[tuple[int, int]] = []
    for axis in (across, vector):
        if (size := tile_size(space[axis], _SQUARE, lanes)) is not None:
            tiles.append((axis, size))
    if not tiles:
        return plan
    outer = [a for a in plan.order if a not in (across, vector)]
    cut = [len(space) + i for i in range(len(tiles))]
    parallel = plan.parallel and (min(plan.parallel, len(outer)) or 1)
    return replace(plan, order=(*outer, *cut, across, vector), tiles=tuple(tiles), parallel=parallel)


def _contiguous_axis(body: Body, vector: int) -> int | None:
    """The axis along which an access is contiguous that strides along the lanes."""
    for op in body.ops:
        if not isinstance(op, LoadOp | StoreOp):
            continue
        (expr,) = op.map.exprs
        stride = expr.coefficient(Var("d", vector))
        if stride is None or stride.constant in (0, 1):
            continue
        for var in sorted(expr.variables(), key=str):
            if var.kind == "d" and (c := expr.coefficient(var)) is not None and c.constant == 1:
                return var.index
    return None


def with_array_sums(plan: Plan, body: Body, space: Sequence[Expr], lanes: int) -> Plan:
    """Read rows in order and keep the sums over rows in scratch, if lanes are columns."""
    vector = plan.vector
    reductions = [op for op in body.ops if isinstance(op, Reduction)]
    if vector is None or not reductions or not all(isinstance(op, ReduceOp) for op in reductions):
        return plan
    rows = body.over[reductions[0]]
    if any(body.over[op] != rows or vector not in body.domains[op.results[0]] for op in reductions):
        return plan
    columns = space[vector]
    if columns.constant is not None and columns.constant <= 2 * lanes:
        return plan
    if Costs(body, space, lanes).trips(rows) < 16:
        return plan
    tiles: list[tuple[int, int]] = []
    if (size := tile_size(columns, _COLUMNS, lanes)) is not None:
        tiles.append((vector, size))
    first = min(rows, key=plan.order.index)
    if (size := tile_size(space[first], _ROWS, 1)) is not None and estimate(space[first]) >= 128:
        tiles.append((first, size))
    outer = [a for a in plan.order if a not in rows and a != vector]
    inner = [a for a in plan.order if a in rows]
    cut = [len(space) + i for i in range(len(tiles))]
    alone = bool(tiles) and tiles[0][0] == vector
    parallel = plan.parallel and (min(plan.parallel, len(outer)) or int(alone))
    order = (*outer, *cut, *inner, vector)
    return replace(plan, order=order, tiles=tuple(tiles), parallel=parallel, arrays=True)


def with_parts(plan: Plan, body: Body, space: Sequence[Expr], lanes: int) -> Plan:
    """Reduce to one value in parallel parts, cut along the outermost loop."""
    first = plan.order[0] if plan.order else None
    if first is None or plan.tiles or any(isinstance(op, ScanOp) or scatters(op) for op in body.ops):
        return plan
    reductions = [op for op in body.ops if isinstance(op, Reduction)]
    if not reductions or any(body.domains[result] for op in reductions for result in op.results):
        return plan
    others = max(1, Costs(body, space, lanes).trips(a for a in plan.order if a != first))
    step = lanes if first == plan.vector else 1
    tile = max(1, _PART // others // step) * step
    if (size := space[first].constant) is not None and size < 2 * tile:
        return plan
    return replace(plan, order=(len(space), *plan.order), tiles=((first, tile),), parallel=1)
