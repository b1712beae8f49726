"""Upstream's `arith`, with the casts and `select` that upstream allows on vectors.

xDSL 0.74 gives these ops scalar-only constraints. The subclasses keep name, format and `isinstance`. The
parser makes them, so passes must: an op of upstream's class is not equal to its own text.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    container_of,
    i1,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..op_definition import op_definition
from ..types import element_type
from .scope import shape_of_lanes

ROUNDED = "tk.rounded"
"""Attribute of an `arith.truncf` that the program asks for, and of an `arith.extf` whose value decides.

No pass may undo a rounding to a half before either.
"""

CONTRACTED = FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""Of a sum that may take a product as it is, as one fused multiply-add: nobody asks for a rounding there."""


def may_contract(op: Operation) -> bool:
    """Whether `op`, a sum or difference of floats, allows it; what a program adds itself does not."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and FastMathFlag.ALLOW_CONTRACT in flags.data


_INTEGERS = container_of(base(IntegerType))
_FLOATS = container_of(AnyFloatConstr)
_INDICES = container_of(base(IntegerType) | base(IndexType))


class _Lanewise(IRDLOperation, ABC):
    """In front of upstream's class: operands and results have as many lanes each."""

    assembly_format = None

    def verify_(self) -> None:
        lanes = {shape_of_lanes(value.type) for value in (*self.operands, *self.results)}
        if len(lanes) > 1:
            operand, result = self.operands[0].type, self.results[0].type
            raise VerifyException(f"{self.name}: operand {operand} and result {result} differ in lanes")


class _FromIntegers(_Lanewise, ABC):
    input = operand_def(_INTEGERS)
    result = result_def(_FLOATS)


class _FromFloats(_Lanewise, ABC):
    input = operand_def(_FLOATS)
    result = result_def(_INTEGERS)


class _ChangeOfWidth(_Lanewise, ABC):
    """Between integers; `GROWS` says which way."""

    GROWS: ClassVar[bool]

    input = operand_def(_INTEGERS)
    result = result_def(_INTEGERS)

    def verify_(self) -> None:
        super().verify_()
        source, result = (cast(IntegerType, element_type(v.type)) for v in (self.input, self.result))
        if (source.width.data < result.width.data) != self.GROWS or source == result:
            raise VerifyException(f"{self.name}: cannot go from {source} to {result}")


@op_definition
class SIToFPOp(_FromIntegers, arith.SIToFPOp):
    """Signed integers to floats."""


@op_definition
class UIToFPOp(_FromIntegers, arith.UIToFPOp):
    """Unsigned integers to floats."""


@op_definition
class FPToSIOp(_FromFloats, arith.FPToSIOp):
    """Floats to signed integers, towards zero."""


@op_definition
class FPToUIOp(_FromFloats, arith.FPToUIOp):
    """Floats to unsigned integers, towards zero."""


@op_definition
class ExtSIOp(_ChangeOfWidth, arith.ExtSIOp):
    """Sign-extend."""

    GROWS: ClassVar[bool] = True
    traits = traits_def(Pure())


@op_definition
class ExtUIOp(_ChangeOfWidth, arith.ExtUIOp):
    """Zero-extend."""

    GROWS: ClassVar[bool] = True


@op_definition
class TruncIOp(_ChangeOfWidth, arith.TruncIOp):
    """Keep the low bits."""

    GROWS: ClassVar[bool] = False


@op_definition
class IndexCastOp(_Lanewise, arith.IndexCastOp):
    """Between `index` and integers, signed."""

    input = operand_def(_INDICES)
    result = result_def(_INDICES)

    def verify_(self) -> None:
        super().verify_()
        kinds = [isinstance(element_type(v.type), IndexType) for v in (self.input, self.result)]
        if kinds[0] == kinds[1]:
            raise VerifyException(
                f"arith.index_cast: exactly one side is index, got {self.input.type} to {self.result.type}"
            )


@op_definition
class SelectOp(arith.SelectOp):
    """Per lane, or whole values by one scalar condition."""

    _V: ClassVar = VarConstraint("_V", AnyAttr())
    assembly_format = None
    cond = operand_def(container_of(base(IntegerType)))
    lhs = operand_def(_V)
    rhs = operand_def(_V)
    result = result_def(_V)

    def verify_(self) -> None:
        lanes = shape_of_lanes(self.cond.type)
        if element_type(self.cond.type) != i1 or lanes not in ((), shape_of_lanes(self.result.type)):
            raise VerifyException(
                f"arith.select: condition for {self.result.type} is i1, or i1 per lane, got {self.cond.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        cond_type = types[0] if len(types) > 1 else i1
        operands = parser.resolve_operands(names, [cond_type, types[-1], types[-1]], parser.pos)
        return cls.create(operands=operands, result_types=[types[-1]], attributes=attributes)


class _Comparison(_Lanewise, ABC):
    """One i1 per lane."""

    predicate = prop_def(IntegerAttr.constr(i64))
    result = result_def(container_of(base(IntegerType)))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """As upstream, whose result is one i1, and then anew with as many lanes as the operands."""
        op = super().parse(parser)
        lanes = shape_of_lanes(op.operands[0].type)
        result = vector_of(i1, *lanes) if lanes else i1
        operands = list(op.operands)
        op.drop_all_references()
        return cls.create(
            operands=operands, result_types=[result], properties=op.properties, attributes=op.attributes
        )


@op_definition
class CmpFOp(_Comparison, arith.CmpfOp):
    """Compare floats."""

    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    lhs = operand_def(_FLOATS)
    rhs = operand_def(_FLOATS)


@op_definition
class CmpIOp(_Comparison, arith.CmpiOp):
    """Compare integers."""

    lhs = operand_def(_INDICES)
    rhs = operand_def(_INDICES)


def _by_name(*classes: type[Operation]) -> dict[str, type[Operation]]:
    return {cls.name: cls for cls in classes}


_RELAXED = _by_name(
    SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, ExtSIOp, ExtUIOp, TruncIOp, IndexCastOp, SelectOp, CmpFOp, CmpIOp
)

ARITH = Dialect(
    "arith",
    [_RELAXED.get(op.name, op) for op in arith.Arith.operations],
    list(arith.Arith.attributes),
)
"""Register this instead of `xdsl.dialects.arith.Arith`."""


def vector_of(type_: Attribute, *lanes: int) -> VectorType[Attribute]:
    """The vector (tile) type with this element."""
    return VectorType(type_, lanes)
