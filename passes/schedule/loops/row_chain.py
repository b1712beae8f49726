"""Chained products on a CPU: some rows at a time, one per lane, along blocks of the chain."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute

from tilewright.dialects.attribute_facts import ints_in
from tilewright.dialects.index_expr import ZERO, Expr, maximum, minimum
from tilewright.dialects.tk.kernels import FuncOp

from ...kernels.chains import Chain, find_chain
from ...kernels.listed import find_listing
from ...kernels.positions import Positions
from ...rewrite import skip
from ..chain_reach import visible_span
from ..visible import View
from .tile import REGISTERS

NAME = "tk.chain"
_STEP = 64
"""Elements of the chain in one block: with the rows they are a tile that stays in the nearest cache."""


@dataclass(frozen=True)
class RowChain:
    """`rows` rows go along the chain together, `step` of its elements at a time.

    In the text: `tk.chain = array<i64: 64, 64>`.
    """

    rows: int
    step: int

    def attribute(self) -> Attribute:
        return DenseArrayBase.from_list(i64, [self.rows, self.step])


def take_chain(func: FuncOp) -> RowChain | None:
    """Read the attribute of a function and remove it."""
    found = ints_in(func.attributes.pop(NAME, None))
    return None if found is None else RowChain(*found)


def choose_chain(func: FuncOp, vector_bits: int) -> tuple[Chain, RowChain] | None:
    """The chain of products that a function is, and how it goes along it; None of any other function."""
    chain = find_chain(func.body.block)
    if chain is None:
        return None
    if chain.sums:
        skip(func, "chained products without lanes of rows: they add up rows of their own")
        return None
    if chain.around:
        skip(func, "chained products without lanes of rows: they go along several batches")
        return None
    lanes = vector_bits // 32
    rows, step = lanes * (4 if REGISTERS.get(vector_bits, 16) >= 32 else 2), _STEP
    size = func.space[chain.along].constant
    if (listing := find_listing(func.body.block.ops, chain.along)) is None:
        step = step if size is None else max(1, min(step, size))
    else:
        rows, step = gcd(rows, *listing.rows(chain.row)), gcd(step, listing.size)
    if rows % lanes:
        skip(func, f"chained products without lanes of rows: {rows} rows have one list")
        return None
    return chain, RowChain(rows, step)


def chain_bounds(chain: Chain, space: tuple[Expr, ...], rows: int, step: int) -> tuple[Expr, Expr]:
    """From where and to where rows `d<row>` to `d<row> + rows - 1` go along the chain.

    What lies before or behind is hidden from all of them. Both are multiples of `step`, but for the last one.
    """
    batches = frozenset(range(len(space))) - {chain.row, chain.along, *chain.held}
    span = visible_span(chain, View(chain.row, rows, chain.along, batches, Positions(space)))
    size = space[chain.along]
    first = ZERO if span.first is None else maximum(0, span.first // step * step)
    end = size if span.end is None else minimum(size, span.end.ceildiv(step) * step)
    return first, end
