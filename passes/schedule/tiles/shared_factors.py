"""Factors of products that cost much: computed once per program, not by each warp that multiplies them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.share import SHARED
from tilewright.dialects.types import is_half

from ...kernels.chains import Chain
from ...kernels.facts import Body
from .factors import costs_much, factor_type

Factor = tuple[SSAValue, Axes]
"""A value, and the axes of its tiles."""


def mark_shared(func: FuncOp, products: Sequence[Contraction] | Chain) -> None:
    """Mark the products of halves that have a factor which costs much.

    Of a chain only those that change along it: the others are computed once, each row of them by one warp.
    """
    body = Body.of(func.body.block)
    for reduce, left, right, changing in _products(products):
        if is_half(factor_type(reduce, left, right)) and any(costs_much(body, *each) for each in changing):
            reduce.attributes[SHARED] = UnitAttr()


def _products(
    products: Sequence[Contraction] | Chain,
) -> Iterable[tuple[ReduceOp, SSAValue, SSAValue, list[Factor]]]:
    """The factors of each, and those of the two of which a step has other tiles than the one before."""
    if isinstance(products, Chain):
        for f in products.products:
            yield f.reduce, f.left, f.right, [(f.right, frozenset((products.along, f.axis)))]
        return
    for p in products:
        yield p.reduce, p.left, p.right, [(p.left, p.rows | p.over), (p.right, p.over | p.columns)]
