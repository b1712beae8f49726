"""align-reductions: what is reduced as a whole is reduced along the axes of a reduction beside it first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.index_expr.shapes import static_product
from tilewright.dialects.ir_access import operands_of
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
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip

_SMALLEST = 1 << 15
"""Fewer elements one program reduces where they are made, before it could hand a part of them on."""
_FEWEST = 16
"""Elements that are reduced to one: what is handed on is small against what is not read again."""
_MAX_OPS = 64
"""How far around a reduction to look: at so many values, and so many readers of each."""


@dataclass(frozen=True)
class AlignReductionsPass(ModulePass):
    """Reduce all of a tensor by way of its columns, or rows, where those of what it is made with are reduced.

    Before (gradients of `scale * x + bias` where `scale` is one number):
        %p = tw.mul %g, %x : tensor<512x128xf32>
        %s = tw.sum %p over [0, 1] : tensor<512x128xf32> -> tensor<f32>
        %b = tw.sum %g over [0] : tensor<512x128xf32> -> tensor<128xf32>
    After:
        %p = tw.mul %g, %x : tensor<512x128xf32>
        %c = tw.sum %p over [0] : tensor<512x128xf32> -> tensor<128xf32>
        %s = tw.sum %c over [0] : tensor<128xf32> -> tensor<f32>
        %b = tw.sum %g over [0] : tensor<512x128xf32> -> tensor<128xf32>

    Kernels that reduce along the same axes become one, which reads %g once; those that reduce along others do
    not. Of 32768 elements or more: fewer are reduced by the one program that makes them. The launch that
    reduces %c is no new one: so many elements were reduced behind what makes them, or in parts, which a
    launch adds up (`reduce-at-once` makes one of two). Sums of halves are rounded once, in the end: those of
    columns are in f32.
    """

    name = "align-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


@dataclass(frozen=True)
class _Beside:
    """What another reduction reduces: axes of a tensor of these sizes, with elements in the same order."""

    sizes: tuple[Expr, ...]
    axes: tuple[int, ...]


def _align(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ReduceOp)
    if static_product(sizes_of(op.result)) != 1:
        return None
    total = static_product(sizes_of(op.source))
    if total is None:
        return skip(op, "how much it reduces depends on a symbol")
    if total < _SMALLEST:
        return None
    beside = _nearest(op, total)
    if beside is None:
        return skip(op, "nothing near it reduces some of its axes")
    source, element = op.source, element_type_of(op.source)
    if sizes_of(source) != beside.sizes:
        source = rw.value(ReshapeOp(source, beside.sizes))
    rounds = isinstance(op, SumOp | ProdOp) and is_half(element)
    if rounds:
        source = rw.value(CastOp(source, f32))
    first = rw.value(type(op)(source, beside.axes))
    result = rw.value(type(op)(first, range(len(sizes_of(first)))))
    if rounds:
        result = rw.value(CastOp(result, element))
    return result if result.type == op.result.type else rw.value(ReshapeOp(result, sizes_of(op.result)))


def _nearest(op: ReduceOp, total: int) -> _Beside | None:
    """What is reduced next to `op` of tensors of as many elements that it is made with, or together with."""
    seen, todo = {op.source}, [op.source]
    for value in todo:
        around = [use.operation for use in islice(value.uses, _MAX_OPS)]
        for user in around:
            if user is not op and (found := _partly(user, total)) is not None:
                return found
        owner = value.owner
        connected: list[SSAValue] = [user.results[0] for user in around if _keeps_order(user)]
        if isinstance(owner, Operation) and _keeps_order(owner):
            connected += operands_of(owner)
        for other in connected:
            if other not in seen and len(seen) < _MAX_OPS and static_product(sizes_of(other)) == total:
                seen.add(other)
                todo.append(other)
    return None


def _keeps_order(op: Operation) -> bool:
    return op.has_trait(Elementwise) or isinstance(op, ReshapeOp)


def _partly(op: Operation, total: int) -> _Beside | None:
    """What `op` reduces, if that is neither all nor next to nothing."""
    if not isinstance(op, ReduceOp | MomentsOp):
        return None
    sizes, axes = tuple(sizes_of(op.source)), ints(op.axes)
    reduced = static_product([sizes[axis] for axis in axes])
    if reduced is None or not _FEWEST <= reduced <= total // _FEWEST:
        return None
    return _Beside(sizes, axes)


_RULES: Rules = {kind: (_align,) for kind in (AllOp, AnyOp, MaxOp, MinOp, ProdOp, SumOp)}
