"""Which functions may be one launch together: what the programs of each are like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.contraction import Contraction, find_products
from tilewright.dialects.tk.domain import Along, reduced_axes
from tilewright.dialects.tk.kernels import FuncOp

from ...kernels.chains import find_chain
from ..blocks import power_of_two
from ..collisions import scatters
from ..cost import estimate
from ..offsets import known_space
from ..roles import transposed_axes

SMALL = 1 << 16
"""Points of an iteration space that a GPU is not filled by: what it would be given alone does not count."""
_SHORT = 1024
"""Elements of a row that the warps of any program can hold, and of the sum of a little product."""
_LITTLE = 1 << 24
"""Multiplications that a launch takes longer than: tiles of as many, with sums of 1024, are 4 programs."""
_LONGEST = 4096
"""Elements of a row from which on programs have as many warps as they get."""


@dataclass(frozen=True)
class Kind:
    """What the programs of a function are like."""

    small: bool
    """Few, of short rows: they may have other warps than they would have alone."""
    row: int
    """Elements of a row that a program reduces, scans or sorts, a power of two; 0 for turned tiles."""
    product: bool = False
    """A little one, that takes registers and shared memory from all programs it is launched with."""

    def suits(self, other: Kind) -> bool:
        """Whether both may share what a program has: one number of warps, registers, shared memory."""
        if self.product or other.product:
            return self.small and other.small
        return self.small or other.small or self.row == other.row


def kind_of(func: FuncOp) -> Kind | str:
    """How `func` is launched with others, or why it is not."""
    if func.scheduled is not None:
        return "its loops are explicit already"
    block = func.body.block
    for op in block.ops:
        if scatters(op):
            return "it stores at positions that it loads, or combines what it stores"
    if find_chain(block) is not None:
        return "it is a chain of products"
    if products := find_products(block):
        if not _are_little(func, products):
            return "it is a product, no little one"
        return Kind(True, 0, product=True)
    over = {axis for op in block.ops for axis in _walked(op)}
    row = min(_LONGEST, power_of_two(prod(max(1, estimate(func.space[a])) for a in over)))
    if transposed_axes(func)[0] is not None and not over:
        row = 0
    return Kind(_points(known_space(func)) < SMALL and row <= _SHORT, row)


def _are_little(func: FuncOp, products: Sequence[Contraction]) -> bool:
    """Whether products are over as soon as they are launched: few multiplications, few of them in turn."""
    space, summed = known_space(func), {axis for product in products for axis in product.over}
    elements = _points(size for axis, size in enumerate(space) if axis not in summed)
    depth = sum(_points(space[axis] for axis in product.over) for product in products)
    return depth <= _SHORT and elements * depth <= _LITTLE


def _points(sizes: Iterable[Expr]) -> int:
    """How many there are in a space, of which one symbol fills a GPU."""
    return prod(SMALL if size.constant is None else size.constant for size in sizes)


def _walked(op: Operation) -> tuple[int, ...]:
    """The axes that an op reduces, scans or sorts."""
    return (op.along,) if isinstance(op, Along) else reduced_axes(op)
