"""Variadic groups whose members differ in type, which IRDL cannot say.

In IRDL one constraint stands for one attribute, so all members of a `variadic` group have
the same type. Such a group is therefore declared to upstream as `arity` optional members,
each with a constraint of its own, and its ops carry the segment sizes that go with it:

    xDSL:      tw.concat, a group of 2 tensors of different types
    upstream:  operandSegmentSizes = array<i32: 1, 1, 0, 0>      (arity 4)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i32
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OperandDef,
    OptionalDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    ResultDef,
    VarConstraint,
    VariadicDef,
)

from .registry import SHARED_DIALECTS

Definition = OperandDef | ResultDef
SEGMENT_OPTIONS = (AttrSizedOperandSegments, AttrSizedResultSegments)


def is_open(definition: Definition) -> bool:
    """A variadic group whose members may differ in type."""
    if not isinstance(definition, VariadicDef) or isinstance(definition, OptionalDef):
        return False
    constraint: RangeConstraint = definition.constr
    while isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    return not (isinstance(constraint, RangeOf) and isinstance(constraint.constr, VarConstraint))


def _sides(op: Operation) -> Iterator[tuple[str, list[Definition], int]]:
    """(segment attribute, definitions, number of values) of operands and results, where a group is open."""
    if not isinstance(op, IRDLOperation) or op.name.partition(".")[0] in SHARED_DIALECTS:
        return  # upstream knows its own ops without a declaration of ours, and makes new ones
    definition = op.get_irdl_definition()
    operands = [d for _, d in definition.operands]
    results = [d for _, d in definition.results]
    if any(map(is_open, operands)):
        yield AttrSizedOperandSegments.attribute_name, list[Definition](operands), len(op.operands)
    if any(map(is_open, results)):
        yield AttrSizedResultSegments.attribute_name, list[Definition](results), len(op.results)


def _sizes(op: Operation, attribute: str, definitions: Sequence[Definition], count: int) -> list[int]:
    """How many values each definition has."""
    given = op.properties.get(attribute) or op.attributes.get(attribute)
    if given is not None:
        return list(cast("DenseArrayBase[IntegerType]", given).get_values())
    rest = count - len(definitions) + 1  # the one variadic group takes what the others leave
    return [rest if isinstance(d, VariadicDef) else 1 for d in definitions]


def widest_group(op: Operation) -> int:
    """The largest open group of one op, 0 where it has none."""
    return max((max(_sizes(op, *side)) for side in _sides(op)), default=0)


def widen(op: Operation, arity: int) -> None:
    """Give `op` the segment sizes that its declaration with `arity` optional members asks for."""
    for attribute, definitions, count in _sides(op):
        sizes: list[int] = []
        for definition, size in zip(definitions, _sizes(op, attribute, definitions, count), strict=True):
            sizes += [1] * size + [0] * (arity - size) if is_open(definition) else [size]
        op.properties.pop(attribute, None)
        op.attributes[attribute] = DenseArrayBase.from_list(i32, sizes)


def narrow(op: Operation, arity: int) -> None:
    """Undo `widen`."""
    for attribute, definitions, _ in _sides(op):
        wide = op.attributes.pop(attribute, None) or op.properties.pop(attribute)
        values = list(cast("DenseArrayBase[IntegerType]", wide).get_values())
        sizes: list[int] = []
        for definition in definitions:
            width = arity if is_open(definition) else 1
            sizes.append(sum(values[:width]))
            del values[:width]
        _restore(op, attribute, sizes)


def _restore(op: Operation, attribute: str, sizes: list[int]) -> None:
    assert isinstance(op, IRDLOperation)
    for option in op.get_irdl_definition().options:
        if isinstance(option, SEGMENT_OPTIONS) and option.attribute_name == attribute:
            option.container(op)[attribute] = DenseArrayBase.from_list(i32, sizes)
