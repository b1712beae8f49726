"""fold-one-hot-sums: where one element of a row differs from the others, their sum is that of two numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of

from ..driver import Rewrite, apply_rules
from ..rewrite import skip
from .elementwise_trees import collect, is_elementwise, is_free
from .one_hot_rows import Hits, Row, hits_among

_MAX_OPS = 16


@dataclass(frozen=True)
class FoldOneHotSumsPass(ModulePass):
    """Sum rows of which one element is chosen by its position as that element and so many of the others.

    Before:
        %n = tw.iota dim 1 start "0" step "1" -> tensor<8x128xi64>
        %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x128xi64>
        %h = tw.compare eq %n, %j : tensor<8x128xi64> -> tensor<8x128xi1>
        %b = tw.broadcast %v dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
        %c = tw.select %h, %b, %zero : tensor<8x128xi1>, tensor<8x128xf32>
        %s = tw.sum %c over [1] : tensor<8x128xf32> -> tensor<8xf32>
    After:
        %k = ... 0 <= %i and %i < 128
        %c = tw.select %k, %v, %zero : tensor<8x1xi1>, tensor<8x1xf32>
        %s = tw.reshape %c : tensor<8x1xf32> -> tensor<8xf32>

    What was gathered of positions lies among them and is not compared again. Elementwise ops may follow the
    choice whose other operands are the same all along the row: all of them are done for the chosen element,
    and once for the others. The gradient of a cross entropy needs the sum of its one-hot rows.
    """

    name = "fold-one-hot-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {SumOp: (_fold,)}, self.name)


def _fold(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, SumOp)
    if not is_elementwise(op.source):
        return None
    members: dict[Operation, None] = {}
    collect(op.source, members, {}, _MAX_OPS)
    axes = ints(op.axes)
    found = [(axis, hits) for axis in axes if (hits := hits_among(members, axis))]
    if len(members) > _MAX_OPS or not found:
        return None
    axis, hits = found[0]
    element, number = element_type_of(op.source), sizes_of(op.source)[axis].constant
    if number is None:
        return skip(op, "nobody knows how many elements its one-hot rows have")
    if len(set(hits.values())) > 1:
        return skip(op, "elements of its rows are chosen by several positions")
    if any(not is_free(leaf, axis) for leaf in _leaves_beside(op.source, hits)):
        return skip(op, "not only the chosen element of its rows differs")
    if len(axes) > 1 and is_half(element):
        return skip(op, "sums of one-hot rows would be rounded to halves")
    if not (is_float(element) or element in (i32, i64)):
        return skip(op, "its integers may be too narrow for how many elements there are")
    sizes = sizes_of(op.source)
    row = Row(hits, tuple(ONE if d == axis else n for d, n in enumerate(sizes)), number, rw)
    total = rw.value(ReshapeOp(row.sum(op.source), [n for d, n in enumerate(sizes) if d != axis]))
    rest = [a - (a > axis) for a in axes if a != axis]
    return rw.value(SumOp(total, rest)) if rest else total


def _leaves_beside(value: SSAValue, hits: Hits) -> Iterator[SSAValue]:
    """What is read, but for hits."""
    todo, seen = [value], set[SSAValue]()
    while todo:
        found = todo.pop()
        if found in seen or found in hits:
            continue
        seen.add(found)
        if is_elementwise(found):
            assert isinstance(found.owner, Operation)
            todo += found.owner.operands
        else:
            yield found
