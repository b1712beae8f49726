"""Which functions may be one launch together: what the programs of each are like."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tilewright.dialects.tk.contraction import find_products
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
"""Elements of a row that the warps of any program can hold."""
_LONGEST = 4096
"""Elements of a row from which on programs have as many warps as they get."""


@dataclass(frozen=True)
class Kind:
    """What the programs of a function are like."""

    small: bool
    """Few, of short rows: they may have other warps than they would have alone."""
    row: int
    """Elements of a row that a program reduces, scans or sorts, a power of two; 0 for turned tiles."""

    def suits(self, other: Kind) -> bool:
        """Whether one number of warps is right for both."""
        return self.small or other.small or self.row == other.row


def kind_of(func: FuncOp) -> Kind | str:
    """How `func` is launched with others, or why it is not."""
    if func.scheduled is not None:
        return "its loops are explicit already"
    block = func.body.block
    for op in block.ops:
        if scatters(op):
            return "it stores at positions that it loads, or combines what it stores"
    if find_products(block) or find_chain(block) is not None:
        return "it is a product"
    over = {axis for op in block.ops for axis in _walked(op)}
    row = min(_LONGEST, power_of_two(prod(max(1, estimate(func.space[a])) for a in over)))
    points = prod(SMALL if size.constant is None else size.constant for size in known_space(func))
    if transposed_axes(func)[0] is not None and not over:
        row = 0
    return Kind(points < SMALL and row <= _SHORT, row)


def _walked(op: Operation) -> tuple[int, ...]:
    """The axes that an op reduces, scans or sorts."""
    return (op.along,) if isinstance(op, Along) else reduced_axes(op)
