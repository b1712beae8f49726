"""A generic that carries an extreme and its position -> `tw.max` and `tw.argmax`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import inf, isnan, nan

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw import reduction
from tilewright.dialects.types import element_type, is_float

from .builder import Builder, attribute, bits, predicate_in, scalar_constant
from .errors import name_of

Kind = tuple[Callable[[SSAValue, Sequence[int]], Operation], Callable[[SSAValue, int], Operation]]
"""The extreme over axes, and its position along one."""
_KINDS: Mapping[str, Kind] = {
    "max": (reduction.MaxOp, reduction.ArgmaxOp),
    "min": (reduction.MinOp, reduction.ArgminOp),
}
_LATEST = 2**63 - 1
Number = float | int


def extreme(
    b: Builder, op: Operation, starts: Sequence[SSAValue], summed: Sequence[int], sizes: Sequence[Expr]
) -> str | None:
    """`max` or `min`, where the body takes the first extreme (a NaN wins) and its position; else None.

    The condition of its two selections is run on every order that two numbers and two positions can
    have, so it may be written in any way.
    """
    block = op.regions[0].block
    last = block.last_op
    if len(op.results) != 2 or len(summed) != 1 or last is None:
        return None
    old, before = block.args[-2:]
    takes = [v.owner for v in last.operands]
    if not all(isinstance(t, Operation) and name_of(t) == "arith.select" for t in takes):
        return None
    first, second = (t.operands for t in takes if isinstance(t, Operation))
    if first[0] is not second[0] or first[2] is not old or second[2] is not before or before.type != i64:
        return None
    new, place = first[1], second[1]
    element = element_type(new.type)
    if not _is_loop(place, summed[0], sizes[summed[0]]) or b.splats.get(starts[1]) != _LATEST:
        return None
    for kind in _KINDS:
        if b.splats.get(starts[0]) == _worst(kind, element) and _takes_first(
            first[0], (new, place, old, before), kind, element
        ):
            return kind
    return None


def values_of(op: Operation) -> tuple[SSAValue, SSAValue]:
    """The new value and the new position."""
    last = op.regions[0].block.last_op
    assert last is not None
    new, place = (v.owner for v in last.operands)
    assert isinstance(new, Operation)
    assert isinstance(place, Operation)
    return new.operands[1], place.operands[1]


def ops_of(kind: str) -> Kind:
    return _KINDS[kind]


def _is_loop(place: SSAValue, loop: int, size: Expr) -> bool:
    """Whether `place` counts the iterations of a loop; of a single one it is 0."""
    made = place.owner
    if not isinstance(made, Operation):
        return False
    if name_of(made) == "arith.constant":
        return size == ONE and scalar_constant(made)[0] == 0
    index = made.operands[0].owner if made.operands else None
    if not isinstance(index, Operation) or name_of(index) != "linalg.index":
        return False
    return str(attribute(index, "dim")).split()[0] == str(loop)


def _worst(kind: str, element: Attribute) -> Number:
    if is_float(element):
        return -inf if kind == "max" else inf
    if element == i1:
        return 0 if kind == "max" else 1
    high = 2 ** (bits(element) - 1)
    return -high if kind == "max" else high - 1


def _takes_first(condition: SSAValue, given: tuple[SSAValue, ...], kind: str, element: Attribute) -> bool:
    """Whether `condition` says when (new, place) comes before (old, before), in all cases that differ."""
    numbers: Sequence[Number] = (0, 1) if element == i1 else (-1, 1)
    if is_float(element):
        numbers = (*numbers, nan)
    for new, old in product(numbers, repeat=2):
        for place, before in ((0, 1), (1, 1), (1, 0)):
            known = dict(zip(given, (new, place, old, before), strict=True))
            if _run(condition, known, element) != _first(kind, new, place, old, before):
                return False
    return True


def _first(kind: str, new: Number, place: int, old: Number, before: int) -> bool:
    equal = new == old or (isnan(new) and isnan(old))
    better = new > old if kind == "max" else new < old
    return better or (isnan(new) and not isnan(old)) or (equal and place < before)


def _run(value: SSAValue, known: dict[SSAValue, Number], element: Attribute) -> Number | None:
    """A condition made of comparisons of the known values; None where it is made of more."""
    if value in known:
        return known[value]
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if len(op.operands) != 2:
        return None
    x, y = (_run(v, known, element) for v in op.operands)
    if x is None or y is None:
        return None
    match name_of(op):
        case "arith.andi" if value.type == i1:
            return bool(x) and bool(y)
        case "arith.ori" if value.type == i1:
            return bool(x) or bool(y)
        case "arith.cmpf":
            return _floats(predicate_in(op), x, y)
        case "arith.cmpi":
            return _integers(predicate_in(op), x, y, op.operands[0].type)
        case _:
            return None


def _compared(name: str, x: Number, y: Number) -> bool:
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[name]


def _floats(name: str, x: Number, y: Number) -> bool | None:
    strange = isnan(x) or isnan(y)
    if name in ("ord", "uno"):
        return strange == (name == "uno")
    if name in ("true", "false"):
        return name == "true"
    return name[0] == "u" if strange else _compared(name[1:], x, y)


def _integers(name: str, x: Number, y: Number, type_: Attribute) -> bool | None:
    """Of numbers that stand for an order alone, signed; true is the larger one without a sign."""
    if name in ("eq", "ne"):
        return _compared(name, x, y)
    return _compared(name[1:], x, y) if (name[0] == "u") == (type_ == i1) else None
