"""Where loops are cut into tiles: transposes, sums over the rows of a matrix, scatters of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp, ScanOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.facts import Body
from ..collisions import scatters
from ..cost import Costs, estimate, turns, weaves
from ..plan import Plan

_SQUARE = 32
"""Side of the tiles of a transpose: two cache lines, and as many pages as a TLB holds."""
_STRIP = 256
"""Elements of each of few rows that are woven at a time: scratch that stays in the nearest cache."""
_LINE = 64
"""Bytes that are fetched at once: a tile of fewer reads each line several times."""
_LEAST_SIDE = 8
_LEAST_TILED = 16_384  # elements that caches hold, whatever the order
_LEAST_TURNED = 512
_COLUMNS = 128
"""Columns that one thread sums or scatters: whole cache lines, several to prefetch."""
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
    if vector is None or any(isinstance(op, Reduction | ScanOp) or scatters(op) for op in body.ops):
        return plan
    across = _across(body, vector)
    if across is None:
        return plan
    turned = [op for op in _accesses(body) if turns(op, across, vector)]
    woven = bool(turned) and all(weaves(op, across, vector, space) for op in turned)
    if min(estimate(space[across]), estimate(space[vector])) < _LEAST_SIDE and not woven:
        return plan
    least = _LEAST_TURNED if turned else _LEAST_TILED
    if Costs(body, space, lanes).trips(range(len(space))) < least:
        return plan
    side = _STRIP if woven else max([_SQUARE, *map(_line_of, turned)])
    tiles: list[tuple[int, int]] = []
    for axis in (across, vector):
        if (size := tile_size(space[axis], side, lanes)) is not None:
            tiles.append((axis, size))
    if not tiles and not turned:
        return plan
    outer = [a for a in plan.order if a not in (across, vector)]
    cut = [len(space) + i for i in range(len(tiles))]
    parallel = plan.parallel and (min(plan.parallel, len(outer)) or int(bool(cut)))
    order = (*outer, *cut, across, vector)
    turn = across if turned else None
    return replace(plan, order=order, tiles=tuple(tiles), parallel=parallel, turn=turn)


def with_rows_of_scans(plan: Plan, body: Body, space: Sequence[Expr], scanned: int | None) -> Plan:
    """Tile the vector axis so that each lane has a row, which is read and written as it lies in memory."""
    vector = plan.vector
    if scanned is None or vector is None or not any(turns(op, scanned, vector) for op in body.ops):
        return plan
    size = tile_size(space[vector], plan.lanes, plan.lanes)
    cut = () if size is None else (len(space),)
    outer = [a for a in plan.order if a not in (scanned, vector)]
    return replace(
        plan,
        order=(*outer, *cut, vector, scanned),
        tiles=() if size is None else ((vector, size),),
        parallel=plan.parallel and (min(plan.parallel, len(outer)) or len(cut)),
        turn=scanned,
    )


def _accesses(body: Body) -> list[LoadOp | StoreOp]:
    return [op for op in body.ops if isinstance(op, LoadOp | StoreOp)]


def _line_of(op: LoadOp | StoreOp) -> int:
    """How many elements a line holds."""
    return _LINE // bytes_of(element_type(op.buffer.type))


def _across(body: Body, vector: int) -> int | None:
    """The axis along which most accesses are contiguous that stride along the lanes."""
    found: dict[int, int] = {}
    for op in _accesses(body):
        (expr,) = op.map.exprs
        stride = expr.coefficient(Var("d", vector))
        if stride is None or stride.constant in (0, 1):
            continue
        for var in sorted(expr.variables(), key=str):
            if var.kind == "d" and (c := expr.coefficient(var)) is not None and c.constant == 1:
                found[var.index] = found.get(var.index, 0) + 1
    return max(found, key=lambda axis: (found[axis], -axis), default=None)


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


def with_columns(plan: Plan, body: Body, space: Sequence[Expr], lanes: int) -> Plan:
    """Let each thread scatter columns of its own, where rows may meet and columns do not."""
    vector, leading = plan.vector, plan.order[: plan.parallel]
    if not leading or plan.tiles or vector is None or vector in leading:
        return plan
    alone = [op for op in body.ops if scatters(op) and body.runs[op].isdisjoint(leading)]
    if not alone or any(vector not in body.runs[op] for op in alone):
        return plan
    if (size := tile_size(space[vector], _COLUMNS, lanes)) is None:
        return plan
    return replace(plan, order=(len(space), *plan.order), tiles=((vector, size),), parallel=1)


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
