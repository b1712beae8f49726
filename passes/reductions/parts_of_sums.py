"""Whether a kernel's reductions are worth splitting into parts, and into which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilewright.dialects.index_expr import Expr, Var, as_expr
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ArgReduceOp, ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Along, Reduction, levels_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.sumexp import SumExpOp
from tilewright.dialects.types import bytes_of, element_type

from ..kernels.body import subscripts_of_rows
from ..kernels.facts import Body
from ..schedule.blocks import power_of_two

Splittable = ReduceOp | MomentsOp | SumExpOp

_SHORT = 4096
"""A part has at least so many elements: what one program reduces in a few steps."""
_SMALL = 1 << 17
"""Fewer elements are reduced before a second kernel has started."""
_EACH = 1 << 14
"""So many of one program are, too, whatever others do meanwhile."""
_UNKNOWN = 1 << 18
"""What a symbolic size is taken to be."""
_COLUMNS = 32
_TILE, _FEW = 64, 16
"""Sides of a tile where there are few of them, and of one that few rows or columns leave mostly masked."""
_DEEP = 256
_LONG = 2048 * 2 * _TILE
"""Elements of factors for a tile: fewer are multiplied before a second kernel has started."""


@dataclass(frozen=True)
class Split:
    """Axis `axis` becomes `count` parts of `length`; `kept` axes are parallel, `others` reduced too."""

    reductions: tuple[Splittable, ...]
    axis: int
    kept: tuple[int, ...]
    others: tuple[int, ...]
    count: Expr
    length: Expr
    even: bool
    """Whether the parts cover the axis exactly."""
    beside: tuple[StoreOp, ...] = ()
    """What is stored along the reduced axes as well: parts do it as they go."""
    walked: tuple[int, ...] = ()
    """Axes along which the product is summed of whose tiles these are the parts."""


def _size(expr: Expr) -> int:
    return expr.evaluate({var: _UNKNOWN for var in expr.variables()})


def first_reductions(kernel: KernelOp, body: Body, programs: int) -> tuple[Splittable, ...] | str | None:
    """Reductions behind which to cut, since more is done along their axes; why not; None: split them."""
    if any(isinstance(op, ArgReduceOp | Along) for op in body.ops):
        return "positions and running values are not combined from parts"
    reductions = [op for op in body.ops if isinstance(op, Splittable)]
    over = frozenset(reductions[0].over)
    if any(frozenset(op.over) != over for op in reductions):
        return "its reductions are over different axes"
    if any(isinstance(op, AssertOp) and body.runs[op] & over for op in body.ops):
        return "it checks along the reduced axes"
    levels = levels_of(kernel.body.block)
    early = tuple(op for op in reductions if levels[op.results[0]] == 1)
    if len(early) == len(reductions) and stores_beside(kernel, body, over) is not None:
        return None
    kept = tuple(a for a in range(len(kernel.space)) if a not in over)
    worth = _of_rows(kernel, body, early, kept, programs)
    return worth if isinstance(worth, str) else early


def stores_beside(kernel: KernelOp, body: Body, over: frozenset[int]) -> tuple[StoreOp, ...] | None:
    """What is stored along the reduced axes `over`; None where parts cannot do it, which do all of a result
    and know no result of a reduction."""
    levels = levels_of(kernel.body.block)
    along = [op for op in body.sinks() if body.runs[op] & over]
    stores = tuple(op for op in along if isinstance(op, StoreOp) and not op.scatters)
    if not stores and not along:
        return ()
    if len(stores) < len(along) or find_contraction(kernel.body.block) is not None:
        return None
    buffers = {op.buffer for op in stores}
    if any(isinstance(op, StoreOp) and op.buffer in buffers and op not in stores for op in body.sinks()):
        return None
    return None if any(levels.get(v, 0) for op in stores for v in op.operands) else stores


def split_of(kernel: KernelOp, body: Body, programs: int) -> Split | str:
    """The split, or why there is none."""
    reductions = tuple(op for op in body.ops if isinstance(op, Splittable))
    over = reductions[0].over
    kept = tuple(a for a in range(len(kernel.space)) if a not in over)
    if find_contraction(kernel.body.block) is not None:
        return _of_product(kernel, reductions, kept, programs)
    found = _of_rows(kernel, body, reductions, kept, programs)
    beside = stores_beside(kernel, body, frozenset(over))
    return found if isinstance(found, str) or not beside else replace(found, beside=beside)


def reduces_in_parts(kernel: KernelOp, programs: int) -> bool:
    """Whether reductions of `kernel` are worth splitting, or cutting off."""
    body = Body.of(kernel.body.block)
    if not any(isinstance(op, Reduction) for op in body.ops):
        return False
    early = first_reductions(kernel, body, programs)
    return isinstance(early, tuple) or (early is None and isinstance(split_of(kernel, body, programs), Split))


def _of_rows(
    kernel: KernelOp, body: Body, reductions: tuple[Splittable, ...], kept: tuple[int, ...], programs: int
) -> Split | str:
    space, over = kernel.space, reductions[0].over
    rows, length = prod(_size(space[a]) for a in kept), prod(_size(space[a]) for a in over)
    if rows * length < _SMALL:
        return "it is short"
    columns = _lies_along(kernel, body, kept)
    beside = _COLUMNS if columns else 1
    busy = -(-rows // beside)
    axis = max(over, key=lambda a: _size(space[a]))
    if busy * 2 > programs:
        return f"{busy} programs keep a GPU busy"
    each = rows * length // busy
    if each * (programs - 2 * busy) <= _EACH * programs:
        return f"{busy} programs reduce {each} elements each before others have started"
    count = min(power_of_two(programs // busy), power_of_two(max(1, length * beside // _SHORT)), 1024)
    return _parts(kernel, reductions, axis, kept, count, unaligned=columns)


def _parts(
    kernel: KernelOp,
    reductions: tuple[Splittable, ...],
    axis: int,
    kept: tuple[int, ...],
    count: int,
    *,
    unaligned: bool,
) -> Split | str:
    """`count` parts, or a few less or more if these are of equal length; best where all begin aligned.

    Wherever parts of columns begin, their rows are read as they lie: those may begin `unaligned`.
    """
    size = kernel.space[axis]
    others = tuple(a for a in reductions[0].over if a != axis)
    if size.constant is not None:
        count = min(count, size.constant)
        near = sorted(range(max(2, count // 2), count * 2), key=lambda n: (abs(n - count), n))
        lengths = (1,) if unaligned else (16, 8, 4, 1)
        count = next((n for m in lengths for n in near if size.constant % (n * m) == 0), count)
    if count < 2:
        return "its parts would be short"
    length = (size + (count - 1)) // count
    even = size.constant is not None and size.constant % count == 0
    return Split(reductions, axis, kept, others, as_expr(count), length, even)


def _of_product(
    kernel: KernelOp, reductions: tuple[Splittable, ...], kept: tuple[int, ...], programs: int
) -> Split | str:
    """Few tiles and a long sum ("split-k"): parts of a length that whole steps cover."""
    sizes = {a: n for a in reductions[0].over if (n := kernel.space[a].constant) is not None}
    if len(sizes) != len(reductions[0].over):
        return "the sum of the product is of unknown length"
    length = prod(sizes.values())
    product = find_contraction(kernel.body.block)
    assert product is not None
    sides = [prod(_size(kernel.space[a]) for a in sorted(axes)) for axes in (product.rows, product.columns)]
    tile = _tile(sides)
    tiles = prod(_size(kernel.space[a]) for a in kept if a not in product.rows | product.columns)
    tiles *= prod(-(-size // block) for size, block in zip(sides, tile, strict=True))
    if any(bytes_of(element_type(op.buffer.type)) > 2 for op in product.sources()):
        return "products of f32 are left as they are"
    if length * sum(tile) < _LONG:
        return f"a sum of {length} products is short"
    most = min(programs // 2 // tiles, length // _DEEP) if tiles else 0
    counts = (n for n in range(most, 1, -1) if length % (n * 16) == 0)
    found = next(((n, a) for n in counts for a, size in sizes.items() if size % n == 0), None)
    if found is None:
        return f"{tiles} tiles with sums of {length} keep a GPU busy"
    count, axis = found
    others = tuple(a for a in sizes if a != axis)
    return Split(reductions, axis, kept, others, as_expr(count), as_expr(sizes[axis] // count), even=True)


def _tile(sides: list[int]) -> list[int]:
    """A tile of a product that has few: a narrow one of what few rows, or columns, multiply."""
    most = _TILE // 2 if min(sides) <= _FEW else _TILE
    return [_FEW if size <= _FEW else most for size in sides]


def _lies_along(kernel: KernelOp, body: Body, kept: tuple[int, ...]) -> bool:
    """Whether what is reduced is contiguous along an axis that stays; positions of rows are not reduced.

    What is told of is the load of most elements: one that repeats along other axes is little beside it.
    """
    loads = [op for op in body.ops if isinstance(op, LoadOp) and len(subscripts_of_rows(op)) > 1]
    reduced = [op for op in loads if not body.domains[op.result] <= {*kept}]
    if not reduced:
        return False
    largest = max(reduced, key=lambda op: prod(_size(kernel.space[a]) for a in body.domains[op.result]))
    last = subscripts_of_rows(largest)[-1:]
    return any((c := e.coefficient(Var("d", a))) is not None and c.constant == 1 for a in kept for e in last)
