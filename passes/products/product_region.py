"""Finds what lies between products: one whose result others read, row by row and column by column.

    s = q k^T;  p = exp(s - l);  v' = p^T g;  d = p * (g v^T - t);  q' = d k;  k' = d^T q

Here `s` is where it begins; `g v^T` has rows and columns in common with it, so it belongs to it, as does
all that is computed number by number, and sums of its columns for each row, which others read; `v'`, `q'` and
`k'`, which add up rows or columns, are where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, OpResult

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.contraction import Contraction, find_contraction
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, axes_of_exprs, exprs_of
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.join import Frame
from ..kernels.body import combined_axes, loads_of, store_to
from .row_sums import sums_of


@dataclass
class Region:
    """Kernels in a common frame; whoever wants what the last ones add up can compute the others again."""

    frame: Frame
    row: int
    column: int
    """Axes of the frame."""
    between: list[KernelOp] = field(default_factory=list[KernelOp])
    """They make something for each row and column, of products."""
    copied: list[KernelOp] = field(default_factory=list[KernelOp])
    """They compute number by number what the others read; nothing is lost where they stay, too."""
    last: dict[KernelOp, int] = field(default_factory=dict[KernelOp, int])
    """Products of what those make, and whether they add up along rows or columns."""
    read_elsewhere: list[OpResult] = field(default_factory=list[OpResult])
    """What kernels `between` make for others, too."""

    def products(self) -> list[KernelOp]:
        """The products that the last ones read."""
        return [kernel for kernel in self.between if _product(kernel) is not None]

    def needed_by(self, kernels: Sequence[KernelOp]) -> frozenset[KernelOp]:
        """`kernels`, and all that they need of the region."""
        found: set[KernelOp] = set()
        todo = list(kernels)
        while todo:
            kernel = todo.pop()
            if kernel in found:
                continue
            found.add(kernel)
            owners = (v.owner for v in kernel.operands)
            todo += [
                k for k in owners if isinstance(k, KernelOp) and k in self.frame.at and k not in self.last
            ]
        return frozenset(found)


def find_region(scores: KernelOp) -> Region | None:
    """The region that begins with a product; None if `scores` is none."""
    product = _product(scores)
    if product is None:
        return None
    region = Region(Frame(scores), max(product.rows), max(product.columns))
    inner = frozenset(range(len(scores.space))) - product.over
    todo, region.between = [scores], [scores]
    while todo:
        kernel = todo.pop(0)
        if kernel in region.between:
            todo += _follow(region, kernel)
        todo += _precede(region, kernel, inner)
    return region


def _product(kernel: KernelOp) -> Contraction | None:
    """The product that a kernel is, of one axis."""
    found = find_contraction(kernel.body.block)
    return found if found is not None and len(found.over) == 1 else None


def _reduced(kernel: KernelOp) -> frozenset[int]:
    return frozenset(a for op in kernel.body.block.ops for a in combined_axes(op))


def _is_elementwise(kernel: KernelOp) -> bool:
    return not any(type(op) in REDUCTIONS_AND_SCANS for op in kernel.body.block.ops)


def _follow(region: Region, kernel: KernelOp) -> Iterator[KernelOp]:
    """Who reads what `kernel` makes belongs to the region, or reads it elsewhere."""
    for value in kernel.results:
        for reader in dict.fromkeys(use.operation for use in value.uses):
            if isinstance(reader, KernelOp) and reader in region.frame.at:
                if reader in region.copied:  # of a product after all
                    region.copied.remove(reader)
                    region.between.append(reader)
                    yield reader
                continue
            if (role := _role(region, value, reader)) is None:
                if value not in region.read_elsewhere:
                    region.read_elsewhere.append(value)
                continue
            assert isinstance(reader, KernelOp)
            if role == "between":
                region.between.append(reader)
            else:
                (axis,) = _reduced(reader)
                (place,) = axes_of_exprs([_place_of(region, reader, axis)])
                region.last[reader] = place
            yield reader


def _place_of(region: Region, kernel: KernelOp, axis: int) -> Expr:
    return next(e for v, e in region.frame.at[kernel].items() if v.index == axis)


def _role(region: Region, value: OpResult, reader: Operation) -> str | None:
    """What a reader is to the region, which it then joins; None if nothing."""
    if not isinstance(reader, KernelOp) or not reader.results:
        return None
    source = reader.sources[list(reader.operands).index(value)]
    read = axes_of_exprs(e for load in loads_of(source) for e in exprs_of(load))
    reduced, product = _reduced(reader), _product(reader)
    if any(store_to(destination) is None for destination in reader.destinations):
        return None  # it adds to something, or stores where data says
    rows = product is None and not _is_elementwise(reader)
    if product is None and len(read) < _long(reader):
        return None
    if rows and ((sums := sums_of(reader)) is None or len(sums.over) > 1):
        return None
    if region.frame.place_reader(value, reader) is not None:
        return None
    if not reduced & read:
        return "between"
    (axis,) = reduced
    if rows and axes_of_exprs([_place_of(region, reader, axis)]) == frozenset((region.column,)):
        return "between"
    if not rows and axes_of_exprs([_place_of(region, reader, axis)]) <= {region.row, region.column}:
        return "last"
    del region.frame.at[reader]
    return None


def _long(kernel: KernelOp) -> int:
    return sum(size.constant != 1 for size in kernel.space)


def _precede(region: Region, kernel: KernelOp, inner: frozenset[int]) -> Iterator[KernelOp]:
    """What `kernel` reads of rows and columns belongs to the region; what factors are made of does not."""
    for value in kernel.operands:
        if not isinstance(value, OpResult) or not isinstance(producer := value.op, KernelOp):
            continue
        if producer in region.frame.at:
            continue
        axes, elementwise = region.frame.read_axes(value, kernel), _is_elementwise(producer)
        both = {region.row, region.column} <= axes
        if not (elementwise and axes <= inner) and not (both and _product(producer) is not None):
            continue
        if region.frame.place_producer(value, kernel) is not None:
            continue
        (region.copied if elementwise else region.between).append(producer)
        yield producer
