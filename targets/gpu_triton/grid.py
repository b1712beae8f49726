"""Program ids: the outermost parallel loops, in one dimension, in the order that the schedule asks for."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Var, product
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp

from .spelling import enclosed
from .writer import Writer


@dataclass(frozen=True)
class Grid:
    """The loops that programs stand for, outermost first, and how many steps each has."""

    loops: tuple[ForOp, ...]
    counts: tuple[Expr, ...]
    swizzle: int

    @property
    def programs(self) -> tuple[Expr, Expr, Expr]:
        """All along x: y and z take no more than 65535."""
        return product(self.counts), ONE, ONE


def grid_of(func: FuncOp) -> Grid:
    """The parallel loops, one inside the other, that hold everything but constants."""
    loops: list[ForOp] = []
    block = func.body.block
    while True:
        inside = [op for op in block.ops if isinstance(op, ForOp)]
        if len(inside) != 1 or inside[0].parallel is None:
            break
        if loops and len(block.ops) != 1:
            break
        loops.append(inside[0])
        block = inside[0].body.block
    counts = tuple(
        (loop.bounds[1] - loop.bounds[0] + (loop.step.value.data - 1)) // loop.step.value.data
        for loop in loops
    )
    swizzle = func.attributes.get("tk.swizzle")
    return Grid(tuple(loops), counts, swizzle.value.data if isinstance(swizzle, IntegerAttr) else 0)


def write_grid(w: Writer, grid: Grid) -> None:
    """`d0 = ...` per loop of more than one step, from the program's number."""
    steps = [(loop, enclosed(w.text(n))) for loop, n in zip(grid.loops, grid.counts, strict=True)]
    once = {loop for loop, count in steps if count == "1" and loop.bounds[0] == ZERO}
    w.zeros.update(map(_axis, once))
    number = w.program + (".to(tl.int64)" if w.wide else "")
    walked = [(loop, count) for loop, count in steps if loop not in once]
    if len(walked) == 1:
        _first_place(w, walked[0][0], number)
    if len(walked) <= 1:
        return
    w.line(f"p = {number}")
    swizzled = grid.swizzle > 1 and once.isdisjoint(grid.loops[-2:])
    counts = [count for _, count in walked]
    blocks: list[str] = []
    rest = "p"
    last = len(counts) - 2 if swizzled else len(counts)
    if swizzled:
        if last:
            w.line(f"q = p % ({counts[-2]} * {counts[-1]})")
            rest = f"p // ({counts[-2]} * {counts[-1]})"
        _swizzle(w, "q" if last else "p", counts[-2], counts[-1], grid.swizzle)
        blocks = ["b0", "b1"]
    for i in reversed(range(last)):
        blocks.insert(0, f"{rest} % {counts[i]}" if i else rest)
        rest = f"{rest} // {counts[i]}"
    for (loop, _), block in zip(walked, blocks, strict=True):
        _first_place(w, loop, block)


def _axis(loop: ForOp) -> Var:
    return Var("d", loop.axis.value.data)


def _first_place(w: Writer, loop: ForOp, block: str) -> None:
    axis, step = _axis(loop), loop.step.value.data
    lower = w.text(loop.bounds[0])
    scaled = block if step == 1 else f"{enclosed(block)} * {step}"
    w.line(f"{axis} = {scaled}" if lower == "0" else f"{axis} = {lower} + {scaled}")
    w.axes[axis] = str(axis)


def _swizzle(w: Writer, number: str, rows: str, columns: str, group: int) -> None:
    """`group` blocks of rows share the columns that are in the cache."""
    w.line(f"first = {number} // ({group} * {columns}) * {group}")
    w.line(f"high = tl.minimum({rows} - first, {group})")
    w.line(f"b0 = first + {number} % ({group} * {columns}) % high")
    w.line(f"b1 = {number} % ({group} * {columns}) // high")
