"""Pass `schedule-gpu`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import levels_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ..rewrite import skip
from .blocks import Blocks, covers, power_of_two
from .chain_blocks import chain_blocks
from .chains import find_chain
from .cost import estimate
from .offsets import index_bits
from .product_blocks import Limits, product_blocks
from .roles import Group, contiguous_axis, groups_of, matrix_product

_PROGRAMS = 264
"""Two per multiprocessor of a large GPU: with fewer, smaller blocks fill it better."""
_TILE = 4096
"""Elements that a program holds of one value: 32 per thread of 4 warps."""
_PERSISTENT = 16384
"""Elements of a row that stay in registers between its reductions."""
_LOOP = 2048
"""Elements of a row that are read at a time where it does not stay."""


@dataclass(frozen=True)
class ScheduleGpuPass(ModulePass):
    """Decide the blocks of each `tk.func` for a GPU, and write them into its attributes.

    Before:
        tk.func @sum [4096, 768] (%x: memref<3145728xf32>, %o: memref<4096xf32>) {
          %0 = tk.load %x[d0*768 + d1] : memref<3145728xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<4096xf32>
        }
    After:
        tk.func @sum ... attributes {tk.blocks = array<i64: 0, 4, 1, 1024>, tk.grid = 1 : i64,
            tk.warps = 8 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {...}

    Parallel axes are the grid. A reduced axis is one block if its row fits into registers,
    else a loop. Offsets have 64 bits only where a buffer may have 2**31 elements. Run
    `flatten-axes` before: blocks along short axes waste lanes. `tf32` lets products of f32 round
    their factors; `shared` is how many KiB of shared memory a program may have.
    """

    name = "schedule-gpu"

    tf32: bool = False
    shared: int = 96

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                limits = Limits(self.tf32, self.shared)
                func.attributes.update(decide(func, limits).attributes())


def decide(func: FuncOp, limits: Limits) -> Blocks:
    """The blocks of one function."""
    bits = index_bits(func)
    product = matrix_product(func)
    if product is not None and (found := product_blocks(func, product, bits, limits)) is not None:
        return found
    chain = find_chain(func.body.block)
    if chain is not None and (found := chain_blocks(func, chain, bits, limits)) is not None:
        return found
    groups = groups_of(func, tiled=False)
    inner = [g for g in groups if g.role in ("reduced", "scanned")]
    if inner:
        return _with_reductions(func, groups, inner, bits)
    return _pointwise(func, groups, bits)


def _widest(func: FuncOp) -> int:
    """Bytes of the narrowest element that is read or written contiguously: it sets the vector length."""
    accesses = [op for op in func.body.block.ops if isinstance(op, LoadOp | StoreOp)]
    found = [bytes_of(element_type(op.buffer.type)) for op in accesses if contiguous_axis(op) is not None]
    return min(found, default=4)


def _pointwise(func: FuncOp, groups: list[Group], bits: int) -> Blocks:
    across = next((g.axes[0] for g in groups if g.role == "across"), None)
    last = next((g.axes[0] for g in groups if g.role == "last"), None)
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    if across is not None and last is not None:
        side = 64 if _widest(func) <= 2 else 32
        tile = tuple((a, _limited(side, func.space[a])) for a in (across, last))
        rest = tuple((a, 1) for a in outer)
        warps = max(1, min(8, tile[0][1] * tile[1][1] // 256))
        return Blocks((*rest, *tile), len(rest) + 2, warps=warps, index=bits)
    if not outer:
        return Blocks((), 0, warps=1, index=bits)
    *rest_axes, axis = outer
    block = _limited(1024, func.space[axis])
    programs = estimate(func.space[axis]) // block
    while block > 128 and programs < _PROGRAMS:
        block, programs = block // 2, programs * 2
    return Blocks(
        (*((a, 1) for a in rest_axes), (axis, block)),
        len(outer),
        warps=max(1, min(4, block // 128)),
        index=bits,
    )


def _limited(block: int, size: Expr) -> int:
    """`block`, or the power of two that covers a smaller size."""
    return block if size.constant is None else min(block, power_of_two(max(1, size.constant)))


def _with_reductions(func: FuncOp, groups: list[Group], inner: list[Group], bits: int) -> Blocks:
    """Rows (or columns) are the grid; what is reduced or scanned is held at once, or looped over."""
    outer = [a for g in groups if g.role == "parallel" for a in g.axes]
    axes = [a for g in inner for a in g.axes]
    column = _lies_along(func, outer)
    sizes = _inner_blocks(func, axes, single=_is_single_pass(func), column=column is not None)
    held = 1
    for _, size in sizes:
        held *= size
    sizes_out: list[tuple[int, int]] = []
    for axis in outer:
        wanted = 1
        if axis == (column if column is not None else outer[-1]):
            wanted = _rows(func, axis, held, column is not None)
        sizes_out.append((axis, wanted))
        held *= wanted
    warps = max(1, min(16, held // 256 if held <= _TILE else held // 512))
    looped = any(not covers(size, func.space[axis]) for axis, size in sizes)
    if looped:
        skip(func, "rows do not stay in registers: reductions are loops over blocks")
    return Blocks((*sizes_out, *sizes), len(outer), warps=power_of_two(warps), stages=1, index=bits)


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
    budget = 128 if column else _TILE if single else _PERSISTENT
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


def _rows(func: FuncOp, axis: int, held: int, column: bool) -> int:
    """Rows (columns) per program: enough work for its warps, not so many that programs get few."""
    limit = 64 if column else 32
    wanted = max(1, min(limit, (_TILE if column else _LOOP) // held))
    count = estimate(func.space[axis])
    least = 16 if column else 1
    while wanted > least and count // wanted < _PROGRAMS:
        wanted //= 2
    return _limited(wanted, func.space[axis])
