"""Rows of which one element is chosen by its position, and summed as that one and any other one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import (
    AddOp,
    AndOp,
    CastOp,
    CompareOp,
    MulOp,
    Predicate,
    SelectOp,
)
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite
from .elementwise_trees import is_elementwise, is_free, made_of, taken
from .splats import splat_of

Key = tuple[SSAValue, bool]
Hits = Mapping[SSAValue, SSAValue]
"""Comparisons of positions along a row with a number that is the same all along it, and that number."""


def hits_among(members: Iterable[Operation], axis: int) -> dict[SSAValue, SSAValue]:
    found: dict[SSAValue, SSAValue] = {}
    for op in members:
        if isinstance(op, CompareOp) and op.predicate.data == Predicate.EQ:
            for positions, number in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if _counts(positions, axis) and is_free(number, axis):
                    found[op.result] = number
    return found


def _counts(value: SSAValue, axis: int) -> bool:
    """Whether its elements are their positions along `axis`."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        dims = ints(owner.dims)
        where = dims.index(axis) if axis in dims else None
        same = where is not None and sizes_of(owner.source)[where] == sizes_of(value)[axis]
        return same and where is not None and _counts(owner.source, where)
    return isinstance(owner, IotaOp) and owner.dim.value.data == axis and _plain(owner)


def _plain(op: IotaOp) -> bool:
    """Whether it counts from 0 in steps of 1, in a type that holds any position."""
    return op.start.data == "0" and op.step.data == "1" and element_type_of(op.result) in (i32, i64)


@dataclass
class Row:
    """What stands for a row: the element that was chosen, and any other one."""

    hits: Hits
    sizes: tuple[Expr, ...]
    """Those of one element per row."""
    number: int
    """How many elements a row has."""
    rw: Rewrite
    _made: dict[Key, SSAValue] = field(default_factory=dict[Key, SSAValue])

    def sum(self, value: SSAValue) -> SSAValue:
        chosen, other = self.at(value, hit=True), self.at(value, hit=False)
        none = splat_of(other) == 0
        total = chosen if none or self.number == 1 else self._with(chosen, other, self.number - 1)
        (position,) = set(self.hits.values())
        if _lies_within(position, self.number):
            return total
        outside = other if none else self._with(None, other, self.number)
        return self.rw.value(SelectOp(self._within(position), total, outside))

    def at(self, value: SSAValue, *, hit: bool) -> SSAValue:
        """The element of `value` that was chosen, or any other one."""
        if (value, hit) not in self._made:
            self._made[value, hit] = self._element(value, hit)
        return self._made[value, hit]

    def _element(self, value: SSAValue, hit: bool) -> SSAValue:
        if value in self.hits:
            return self._full(hit, value)
        owner = value.owner
        if not is_elementwise(value):
            return taken(value, self.sizes, self.rw)
        assert isinstance(owner, Operation)
        if isinstance(owner, SelectOp) and owner.condition in self.hits:
            return self.at(owner.on_true if hit else owner.on_false, hit=hit)
        return made_of(owner, [self.at(v, hit=hit) for v in owner.operands], self.sizes, self.rw)

    def _with(self, chosen: SSAValue | None, other: SSAValue, times: int) -> SSAValue:
        """So many times `other`, and `chosen`; of halves in f32."""
        narrow = element_type_of(other)
        if is_half(narrow):
            other = self.rw.value(CastOp(other, f32))
            chosen = None if chosen is None else self.rw.value(CastOp(chosen, f32))
        total = self.rw.value(MulOp(other, self._full(times, other)))
        if chosen is not None:
            total = self.rw.value(AddOp(chosen, total))
        return self.rw.value(CastOp(total, narrow)) if is_half(narrow) else total

    def _within(self, position: SSAValue) -> SSAValue:
        """Whether it is one of the row's."""
        number = taken(position, self.sizes, self.rw)
        low = self.rw.value(CompareOp(number, self._full(0, number), "ge"))
        high = self.rw.value(CompareOp(number, self._full(self.number, number), "lt"))
        return self.rw.value(AndOp(low, high))

    def _full(self, number: float, like: SSAValue) -> SSAValue:
        return self.rw.value(FullOp(number, element_type_of(like), self.sizes))


def _lies_within(position: SSAValue, number: int) -> bool:
    """Whether it was gathered, and so checked, of so many positions."""
    owner = position.owner
    while isinstance(owner, BroadcastOp | ReshapeOp | CastOp) and element_type_of(owner.result) in (i32, i64):
        owner = owner.operands[0].owner
    if not isinstance(owner, GatherOp) or len(owner.indices) != 1:
        return False
    counted = owner.source
    return sizes_of(counted) == (as_expr(number),) and _counts(counted, 0)
