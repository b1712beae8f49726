"""reduce-rows-first: where rows are reduced anyway, all of a tensor is reduced by way of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.index_expr.shapes import static_product
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.dialects.tw.reduction import (
    AllOp,
    AnyOp,
    MaxOp,
    MinOp,
    MomentsOp,
    ProdOp,
    ReduceOp,
    SumOp,
)
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, apply_rules

_MAX_OPS = 64
"""How far above a reduction to look."""


@dataclass(frozen=True)
class ReduceRowsFirstPass(ModulePass):
    """Reduce each row first, where the rows that are reduced are made with a reduction of each.

    Before:
        %m = tw.max %x over [1] : tensor<8x128xf32> -> tensor<8xf32>
        %b = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x128xf32>
        %d = tw.sub %x, %b : tensor<8x128xf32>
        %s = tw.sum %d over [0, 1] : tensor<8x128xf32> -> tensor<f32>
    After:
        ...
        %r = tw.sum %d over [1] : tensor<8x128xf32> -> tensor<8xf32>
        %s = tw.sum %r over [0] : tensor<8xf32> -> tensor<f32>

    The kernel that reduces the rows to make %d reduces those of %d, too, which need not be stored for another
    one: the largest element of what a norm makes, a divergence of two softmaxes. So are columns of at most
    `column` elements, such as channels: differences of images whose channels are normalized. Sums of halves
    are rounded once, in the end: those of rows are in f32.
    """

    name = "reduce-rows-first"

    column: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split = partial(_split, column=self.column)
        apply_rules(op, {kind: (split,) for kind in _REDUCTIONS}, self.name)


_REDUCTIONS = (AllOp, AnyOp, MaxOp, MinOp, ProdOp, SumOp)


def _split(op: Operation, rw: Rewrite, column: int) -> SSAValue | None:
    assert isinstance(op, ReduceOp)
    axes = sorted(ints(op.axes))
    rows = next((r for r in _reduced_with(op.source, column) if r and set(r) < set(axes)), None)
    if rows is None:
        return None
    source, element = op.source, element_type_of(op.source)
    rounds = isinstance(op, SumOp | ProdOp) and is_half(element)
    if rounds:
        source = rw.value(CastOp(source, f32))
    first = rw.value(type(op)(source, rows))
    left = [axis - sum(row < axis for row in rows) for axis in axes if axis not in rows]
    result = rw.value(type(op)(first, left))
    return rw.value(CastOp(result, element)) if rounds else result


def _reduced_with(value: SSAValue, column: int) -> Iterator[list[int]]:
    """The axes of each reduction of as many rows, or short columns, that make the elements of `value`."""
    sizes, seen, todo = sizes_of(value), set[SSAValue](), [value]
    while todo and len(seen) < _MAX_OPS:
        owner = (found := todo.pop()).owner
        if found in seen or not isinstance(owner, Operation):
            continue
        seen.add(found)
        if isinstance(owner, ReduceOp | MomentsOp):
            axes = sorted(ints(owner.axes))
            if sizes_of(owner.source) == sizes and _is_held(axes, sizes, column):
                yield axes
        elif owner.has_trait(Elementwise) or _keeps_rows(owner):
            todo += owner.operands


def _is_held(axes: list[int], sizes: Sequence[Expr], column: int) -> bool:
    """Whether these are the last axes, or so short that a kernel holds columns along them."""
    if axes == list(range(len(sizes) - len(axes), len(sizes))):
        return True
    length = static_product([sizes[axis] for axis in axes])
    return length is not None and length <= column


def _keeps_rows(op: Operation) -> bool:
    """Whether it repeats numbers, or drops and adds dimensions of size 1."""
    if isinstance(op, ReshapeOp):
        before, after = ([n for n in sizes_of(v) if n != ONE] for v in (op.source, op.result))
        return before == after
    return isinstance(op, BroadcastOp)
