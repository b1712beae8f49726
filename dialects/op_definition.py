"""`irdl_op_definition` of our dialects: named operands, results and regions are found in one step.

The accessors of xDSL take three calls of Python for each look, and unpack `operandSegmentSizes` each time.
Passes look at named operands more often than at anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, irdl_op_definition
from xdsl.irdl.operations import (
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    SingleAttrAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
)

from .attribute_facts import bounds_of_segments
from .ir_access import operands_of

OpT = TypeVar("OpT", bound=IRDLOperation)

_member = cast("Callable[[tuple[SSAValue, ...], int], SSAValue]", tuple.__getitem__)  # pyright: ignore
"""`[]` of a tuple: that of xDSL's tuples of values is written in Python."""


class _Operand(BeforeVariadicSingleAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> SSAValue:
        return _member(operands_of(obj), self.idx)


class _Result(BeforeVariadicSingleAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> SSAValue:
        return _member(obj.results, self.idx)


class _Region(BeforeVariadicSingleAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> Region:
        return obj.regions[self.idx]


def _bounds(op: Operation) -> tuple[int, ...]:
    """Where the operands of each name begin, and where the last ones end."""
    sizes = op.properties[AttrSizedOperandSegments.attribute_name]
    return bounds_of_segments(cast("DenseArrayBase[IntegerType]", sizes))


class _SizedOperand(SingleAttrAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> SSAValue:
        return _member(operands_of(obj), _bounds(obj)[self.idx])


class _SizedOperands(VariadicAttrAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> Sequence[SSAValue]:
        bounds = _bounds(obj)
        return operands_of(obj)[bounds[self.idx] : bounds[self.idx + 1]]


class _OptionalOperand(OptionalAttrAccessor):
    def __get__(self, obj: Operation, objtype: object = None) -> SSAValue | None:
        bounds = _bounds(obj)
        begin = bounds[self.idx]
        return _member(operands_of(obj), begin) if bounds[self.idx + 1] > begin else None


_SINGLE = {VarIRConstruct.OPERAND: _Operand, VarIRConstruct.RESULT: _Result, VarIRConstruct.REGION: _Region}
_SIZED: dict[type[Any], type[Any]] = {
    SingleAttrAccessor: _SizedOperand,
    VariadicAttrAccessor: _SizedOperands,
    OptionalAttrAccessor: _OptionalOperand,
}


def op_definition(cls: type[OpT]) -> type[OpT]:
    """`irdl_op_definition`; sizes of operands, if an op has them, are a property (`as_property`)."""
    cls = irdl_op_definition(cls)
    accessors: list[tuple[str, Any]] = list(vars(cls).items())
    for name, found in accessors:
        if type(found) is BeforeVariadicSingleAccessor and found.construct in _SINGLE:
            setattr(cls, name, _SINGLE[found.construct](found.construct, found.idx))
        elif isinstance(found, BaseAttrAccessor) and found.construct is VarIRConstruct.OPERAND:
            setattr(cls, name, _SIZED[type(found)](found.construct, found.idx, found.option))
    return cls
