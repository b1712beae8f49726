"""Blocks for functions that reduce or scan: rows or columns of one program, what it holds or loops over."""

from __future__ import annotations

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import levels_of
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import skip
from .blocks import Blocks, covers, limited, power_of_two
from .cost import estimate
from .lanes import elements_of_lane, filled_warps
from .roles import Group, contiguous_axis, groups_of

_TILE = 4096
"""Elements that a program holds of one value: 32 per thread of 4 warps."""
_EACH = 8
"""Elements of one lane; twice as many of a row that is longer than a tile."""
_PERSISTENT = 16384
"""Elements of a row that stay in registers between its reductions."""
_FEWEST_COLUMNS = 16
"""Elements side by side that are worth a transaction of memory."""
_LOOP = 2048
"""Elements of a row that are read at a time where it does not stay."""


def row_blocks(
    func: FuncOp, groups: list[Group], inner: list[Group], bits: int, programs: int, lanes: int
) -> Blocks:
    """Rows (or columns) are the grid; what is reduced or scanned is held at once, or looped over."""
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    axes = [a for g in inner for a in g.axes]
    column = _lies_along(func, outer)
    sizes = _inner_blocks(func, axes, single=_is_single_pass(func), column=column is not None)
    held = 1
    for _, size in sizes:
        held *= size
    varied = outer[-1:] if column is None else [column]
    sizes_out: list[tuple[int, int]] = []
    for axis in outer:
        wanted = _rows(func, axis, held, column is not None, programs, lanes) if axis in varied else 1
        sizes_out.append((axis, wanted))
        held *= wanted
    looped = any(not covers(size, func.space[axis]) for axis, size in sizes)
    if looped:
        skip(func, "rows do not stay in registers: reductions are loops over blocks")
    return Blocks(
        (*sizes_out, *sizes),
        len(outer),
        warps=filled_warps(held, _EACH if held <= _TILE else 2 * _EACH, lanes, most=16),
        index=bits,
        kind="rows",
        varied=tuple(varied),
    )


def _lies_along(func: FuncOp, outer: list[int]) -> int | None:
    """The parallel axis along which the inputs are contiguous, if rather than along a reduced one."""
    loads = [op for op in func.body.block.ops if isinstance(op, LoadOp)]
    weight = dict.fromkeys(range(len(func.space)), 0)
    for op in loads:
        if (axis := contiguous_axis(op)) is not None:
            weight[axis] += estimate(func.space[axis]) > 1 and len(_axes(op)) > 1
    best = max(weight, key=lambda a: (weight[a], a), default=None)
    if best is None or not weight[best] or best not in outer:
        return None
    return best


def _axes(op: LoadOp) -> set[int]:
    return {v.index for e in op.map.exprs for v in e.variables() if v.kind == "d"}


def _is_single_pass(func: FuncOp) -> bool:
    """Whether nothing meets a reduction's result again along the reduced axes."""
    levels = levels_of(func.body.block)
    scans = any(isinstance(op, ScanOp) for op in func.body.block.ops)
    return not scans and max(levels.values(), default=0) <= 1 and not _stores_inside(func)


def _stores_inside(func: FuncOp) -> bool:
    inner = {a for g in groups_of(func, tiled=False) if g.role == "reduced" for a in g.axes}
    stores = [op for op in func.body.block.ops if isinstance(op, StoreOp)]
    return any(
        v.kind == "d" and v.index in inner for op in stores for e in op.map.exprs for v in e.variables()
    )


def _inner_blocks(func: FuncOp, axes: list[int], *, single: bool, column: bool) -> list[tuple[int, int]]:
    """The blocks of the reduced axes; the budget goes to the last ones first."""
    if column:
        budget = 128 if single else _PERSISTENT // 2 // _FEWEST_COLUMNS
    else:
        budget = _TILE if single else _PERSISTENT
    found: list[tuple[int, int]] = []
    for axis in reversed(axes):
        size = func.space[axis].constant
        if size is not None and power_of_two(max(1, size)) <= budget:
            block = power_of_two(max(1, size))
        else:
            block = min(budget, 32 if column else _LOOP)
        found.append((axis, block))
        budget = max(1, budget // block)
    return found[::-1]


def _rows(func: FuncOp, axis: int, held: int, column: bool, programs: int, lanes: int) -> int:
    """Rows (columns) per program: enough for the lanes of a warp, not so many that programs get few."""
    limit = 64 if column else 32
    filled = power_of_two(elements_of_lane(func) * lanes // held)
    least = max(_FEWEST_COLUMNS if column else 1, filled)
    wanted = max(least, min(limit, (_TILE if column else _LOOP) // held))
    count = estimate(func.space[axis])
    while wanted > least and count // wanted < programs:
        wanted //= 2
    return limited(wanted, func.space[axis])
