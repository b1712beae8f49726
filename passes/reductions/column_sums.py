"""Sums of columns: which axes they go along, and how much of a row a program holds beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Along, axes_of_exprs, exprs_of, levels_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.facts import Body
from ..schedule.blocks import power_of_two
from ..schedule.cost import size_of_element
from ..schedule.live import FILE, live_bits

_PARTS = (64, 32, 16, 8, 4)
"""Rows of a part: powers of two, which blocks cover. With fewer rows sums cost as much as they save."""
_ROWS, _FEWEST = _PARTS[0], _PARTS[-1]
_COLUMNS = 64
"""Columns of one program where rows are not reduced."""
_MANY = 512
"""Columns of which 16 each are programs enough to add up parts."""
_HELD = 8192
"""Elements of the rows of a part that a program holds at once where each row is reduced as well."""
_LOOPED = 2
"""Times as many programs as are wanted at least, where each goes along the rows of its part in steps: of two
that share a multiprocessor one waits for memory while the other computes."""


def has_many_columns(kernel: KernelOp, over: Collection[int]) -> bool:
    """Whether parts that are stored along rows are added up by enough programs, each of some columns."""
    sizes = [size.constant for a, size in enumerate(kernel.space) if a not in over]
    return None in sizes or prod(n for n in sizes if n is not None) >= _MANY


@dataclass(frozen=True)
class Part:
    """`length` of `axis`, and all of the axes `within`: the rows that one program sums."""

    axis: int
    length: int
    within: tuple[int, ...] = ()


def part_of(kernel: KernelOp, over: Sequence[int], held: Rows | None, programs: int) -> Part | None:
    """Which of the rows that `kernel` sums are a part; programs hold those of `held`.

    Rows of an image end where the next one begins: where these are short, a part has several whole ones.
    """
    sizes = [size.constant for size in kernel.space]
    if None in sizes:
        return None
    known = [size for size in sizes if size is not None]
    rows = prod(known[a] for a in over)
    columns = prod(n for a, n in enumerate(known) if a not in over)
    beside = max(1, columns // _COLUMNS) if held is None else 1
    most = min(_ROWS, rows * beside // programs)
    if held is not None:
        most = min(most, held.most(rows, programs, summed_bits(kernel)))
    fitting = [
        Part(axis, n)
        for axis in reversed(over)
        for n in range(min(most, rows - 1), _FEWEST - 1, -1)
        if known[axis] % n == 0
    ]
    even = next((part for part in fitting if part.length in _PARTS), None)
    if held is None:
        return even if len(over) == 1 else _of_several(known, over, most, even)
    # of rows that programs hold, steps along a part are blocks, whatever its length
    return even or max(fitting, key=lambda part: part.length, default=None)


def _of_several(sizes: Sequence[int], over: Sequence[int], most: int, even: Part | None) -> Part | None:
    """A part of whole axes and some of the one before them, where `even` is not half as many rows."""
    found, rows, fewest = even, 1, _FEWEST if even is None else 2 * even.length
    within: tuple[int, ...] = ()
    for axis in reversed(over):
        if (within and axis + 1 != within[0]) or rows > most:
            break
        length = next(n for n in range(min(most // rows, sizes[axis]), 0, -1) if sizes[axis] % n == 0)
        if rows * length >= fewest:
            found = Part(axis, length, within)
        if length < sizes[axis]:
            break
        rows, within = rows * length, (axis, *within)
    return found


@dataclass(frozen=True)
class Rows:
    """Rows that programs hold, since they reduce each."""

    held: int
    """Elements of one row."""
    live: int
    """Bits of each that are live at once, and of the sums of columns beside it."""

    def most(self, count: int, programs: int, sums: int) -> int:
        """The most of `count` rows that a part has, beside the `sums` bits of a column: none without room."""
        if self.held > _HELD or (self.live + sums) * self.held >= FILE:
            return 0
        return max(_FEWEST, _HELD // self.held, count // (_LOOPED * programs))


def summed_axes(kernel: KernelOp) -> tuple[int, ...]:
    """The axes along which `kernel` sums columns and does nothing else; none where it is no such sum."""
    if find_contraction(kernel.body.block) is not None:
        return ()
    reductions = [op for op in kernel.body.block.ops if reduced_axes(op)]
    if not reductions or not all(isinstance(op, ReduceOp) for op in reductions):
        return ()
    body = Body.of(kernel.body.block)
    over = reductions[0].over if isinstance(reductions[0], ReduceOp) else ()
    if any(set(reduced_axes(op)) != set(over) for op in reductions):
        return ()
    if any(isinstance(op, Along) or (isinstance(op, LoadOp) and _is_along(op, over)) for op in body.ops):
        return ()
    if any(isinstance(op, AssertOp) or body.runs[op] & set(over) for op in body.sinks()):
        return ()
    if any(level > 1 for level in levels_of(kernel.body.block).values()):
        return ()
    return tuple(sorted(over))


def _is_along(load: LoadOp, axes: tuple[int, ...]) -> bool:
    """Whether neighbours in memory are loaded along one of the axes. An element may serve all columns."""
    if axes_of_exprs(exprs_of(load)) <= set(axes):
        return False
    return bool(load.subscripts) and any(load.subscripts[-1].uses(Var("d", a)) for a in axes)


def rows_held(kernel: KernelOp, where: Sequence[Expr]) -> Rows | None:
    """The rows that are at these subscripts, where `kernel` reduces them."""
    if not where:
        return None
    body = Body.of(kernel.body.block)
    along = {a for a in range(len(kernel.space)) if where[-1].uses(Var("d", a))}
    reduced = [axes for op in body.ops if not (axes := {*reduced_axes(op)}).isdisjoint(along)]
    if not reduced:
        return None
    sizes = {a: power_of_two(kernel.space[a].constant or 2 * _HELD) for a in {*chain(*reduced)}}
    held = max(prod(sizes[a] for a in axes) for axes in reduced)
    live = live_bits(body, frozenset(sizes))
    return Rows(held, live + summed_bits(kernel, along))


def summed_bits(kernel: KernelOp, along: Collection[int] = ()) -> int:
    """Bits of what `kernel` reduces to, but for what it reduces along these axes."""
    ops = [op for op in kernel.body.block.ops if (axes := reduced_axes(op)) and set(axes).isdisjoint(along)]
    return sum(size_of_element(result.type) for op in ops for result in op.results)
