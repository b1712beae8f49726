"""Ops on scalars of the iteration space: reductions, scans, random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    EqAttrConstraint,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attribute_facts import ints
from ..op_definition import op_definition
from ..philox import WORDS
from ..types import element_type, is_float
from .attributes import axes_attr, int64, parse_axes, parse_value, print_axes, print_tail, with_tail
from .lanes import parse_lanes, print_lanes, verify_active
from .scope import shape_of_lanes, verify_axes

_POSITION = EqAttrConstraint(i64) | EqAttrConstraint(i32)
REDUCTIONS = ("add", "mul", "max", "min", "and", "or")
LOG_ADD_EXP = "logaddexp"
"""Floats alone: log(exp(a) + exp(b)), as the larger one and what the other one adds to it; NaN spreads."""
LINEAR = "linear"
"""Floats alone: what there was times a factor of its own for each element, plus that element."""
SCANS = ("add", "mul", "max", "min", LOG_ADD_EXP, LINEAR)


def _verify_kind(op: IRDLOperation, kind: str, allowed: Sequence[str]) -> None:
    if kind not in allowed:
        raise VerifyException(f"{op.name}: kind is one of {', '.join(allowed)}, got {kind}")


def verify_floats(op: IRDLOperation, kind: str, type_: Attribute) -> None:
    """Check that what combines exponentials does so with floats."""
    if kind in (LOG_ADD_EXP, LINEAR) and not is_float(element_type(type_)):
        raise VerifyException(f"{op.name}: {kind} combines floats, got {type_}")


def verify_scan(op: IRDLOperation, kind: str, value: SSAValue, factor: SSAValue | None) -> None:
    """Check the kind and the operands of a running combination, whose result has the type of `value`."""
    _verify_kind(op, kind, SCANS)
    verify_floats(op, kind, value.type)
    if (factor is None) == (kind == LINEAR):
        raise VerifyException(f"{op.name}: {LINEAR} alone takes a factor")
    for name, other in (("factor", factor), ("result", op.results[0])):
        if other is not None and other.type != value.type:
            raise VerifyException(f"{op.name}: {name} has type {other.type}, expected {value.type}")


def print_scan(printer: Printer, kind: str, value: SSAValue, factor: SSAValue | None) -> None:
    """`linear %x by %f`"""
    printer.print_string(f" {kind} ")
    printer.print_operand(value)
    if factor is not None:
        printer.print_string(" by ")
        printer.print_operand(factor)


def parse_scan(parser: Parser) -> tuple[str, SSAValue, SSAValue | None]:
    """The kind, the value and its factor."""
    kind, value = parser.parse_identifier(), parse_value(parser)
    return kind, value, parse_value(parser) if parser.parse_optional_keyword("by") else None


DISTINCT = "tk.distinct"
"""Unit attribute of an `or`: at most one of what it combines is true."""


@op_definition
class ReduceOp(IRDLOperation):
    """Combine a value over `axes`; an empty axis gives the identity of the combination.

    %1 = tk.reduce add %0 over [1, 2] : f32

    `max` and `min` propagate NaN. `and`, `or` are for integers (i1: all, any). An `or` with `tk.distinct`
    promises that no two elements along the axis are true.
    """

    name = "tk.reduce"

    value = operand_def(AnyAttr())
    kind = prop_def(StringAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, kind: str, value: SSAValue, axes: Sequence[int]) -> ReduceOp:
        return cls.create(
            operands=[value],
            result_types=[value.type],
            properties={"kind": StringAttr(kind), "axes": axes_attr(*axes)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        """The reduced axes."""
        return ints(self.axes)

    def verify_(self) -> None:
        _verify_kind(self, self.kind.data, REDUCTIONS)
        verify_axes(self, self.over)
        if self.result.type != self.value.type:
            raise VerifyException(
                f"tk.reduce: result has type {self.result.type}, expected {self.value.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_operand(self.value)
        printer.print_string(" over ")
        print_axes(printer, self.axes)
        print_tail(printer, self, self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        kind = parser.parse_identifier()
        value = parse_value(parser)
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        return with_tail(parser, cls.make(kind, value, axes.get_values()), value)


@op_definition
class ArgReduceOp(IRDLOperation):
    """The extreme value over an axis and the `index` that stands beside it.

    %m, %i = tk.argreduce max %v at %index over [1] : f32

    The first of equal values wins, NaN wins over numbers. The index has type i64, or i32 where it is
    below 2**31 - 1.
    """

    name = "tk.argreduce"

    value = operand_def(AnyAttr())
    index = operand_def(_POSITION)
    kind = prop_def(StringAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    extreme = result_def(AnyAttr())
    position = result_def(_POSITION)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, kind: str, value: SSAValue, index: SSAValue, axes: Sequence[int]) -> ArgReduceOp:
        return cls.create(
            operands=[value, index],
            result_types=[value.type, index.type],
            properties={"kind": StringAttr(kind), "axes": axes_attr(*axes)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        """The reduced axes."""
        return ints(self.axes)

    def verify_(self) -> None:
        _verify_kind(self, self.kind.data, ("max", "min"))
        verify_axes(self, self.over)
        if self.extreme.type != self.value.type:
            raise VerifyException(
                f"tk.argreduce: result has type {self.extreme.type}, expected {self.value.type}"
            )
        if self.position.type != self.index.type:
            raise VerifyException(
                f"tk.argreduce: position has type {self.position.type}, expected {self.index.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_operand(self.value)
        printer.print_string(" at ")
        printer.print_operand(self.index)
        printer.print_string(" over ")
        print_axes(printer, self.axes)
        print_tail(printer, self, self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ArgReduceOp:
        kind = parser.parse_identifier()
        value = parse_value(parser)
        parser.parse_keyword("at")
        index = parse_value(parser)
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        return with_tail(parser, cls.make(kind, value, index, axes.get_values()), value)


@op_definition
class ScanOp(IRDLOperation):
    """Running combination along an axis, the current element included.

    %1 = tk.scan add %0 along 1 : f32
    %2 = tk.scan logaddexp %0 along 1 : f32
    %3 = tk.scan linear %0 by %f along 1 : f32

    `linear` is what there was, times the factor here, plus the element here; 0 is what there was at first.
    """

    name = "tk.scan"

    value = operand_def(AnyAttr())
    factor = opt_operand_def(AnyAttr())
    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, kind: str, value: SSAValue, axis: int, factor: SSAValue | None = None) -> ScanOp:
        return cls.create(
            operands=[value] if factor is None else [value, factor],
            result_types=[value.type],
            properties={"kind": StringAttr(kind), "axis": int64(axis)},
        )

    @property
    def along(self) -> int:
        return self.axis.value.data

    def verify_(self) -> None:
        verify_axes(self, (self.along,))
        verify_scan(self, self.kind.data, self.value, self.factor)

    def print(self, printer: Printer) -> None:
        print_scan(printer, self.kind.data, self.value, self.factor)
        printer.print_string(f" along {self.along}")
        print_tail(printer, self, self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        kind, value, factor = parse_scan(parser)
        parser.parse_keyword("along")
        axis = parser.parse_integer()
        return with_tail(parser, cls.make(kind, value, axis, factor), value)


QUADS = "tk.quads"
"""Attribute of a `tk.random`: a dimension of its tile."""


@op_definition
class RandomOp(IRDLOperation):
    """A uniform f32 in [0, 1) that depends on nothing but `seed` and `counter` (i64 each).

    %1 = tk.random %seed, %counter : f32

    Philox4x32-10: the key is `seed` (low word first), the block counter is (low word of
    `counter div 4`, high word, 0, 0), and the result is output word `counter mod 4`, shifted right
    by 8, times 2**-24. With `tk.quads` (an attribute, set by `share-draws`) every four neighbours along
    that dimension of a tile have the counters of one block.
    """

    name = "tk.random"

    seed = operand_def(AnyAttr())
    counter = operand_def(AnyAttr())
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, seed: SSAValue, counter: SSAValue, result_type: Attribute) -> RandomOp:
        return cls.create(operands=[seed, counter], result_types=[result_type])

    @property
    def quads(self) -> int | None:
        """The dimension along which four neighbours share a block, if that is known."""
        found = self.attributes.get(QUADS)
        return found.value.data if isinstance(found, IntegerAttr) else None

    def verify_(self) -> None:
        shape = shape_of_lanes(self.counter.type)
        if self.quads is not None and not (0 <= self.quads < len(shape) and shape[self.quads] % WORDS == 0):
            raise VerifyException(f"tk.random: {self.counter.type} has no fours along {self.quads}")
        for name, operand in (("seed", self.seed), ("counter", self.counter)):
            if element_type(operand.type) != i64:
                raise VerifyException(f"tk.random: {name} is i64 (per lane), got {operand.type}")
        if shape_of_lanes(self.result.type) != shape_of_lanes(self.counter.type):
            raise VerifyException(
                f"tk.random: counter {self.counter.type} and result {self.result.type} differ in lanes"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.seed, self.counter), printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> RandomOp:
        seed = parse_value(parser)
        parser.parse_punctuation(",")
        counter = parse_value(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.make(seed, counter, parser.parse_type())
        op.attributes.update(attributes)
        return op


@op_definition
class ActiveOp(IRDLOperation):
    """Which lanes of the enclosing `tk.tail`, or of the masked loops over axes `lanes`, are active.

    %m = tk.active : vector<16xi1>
    %n = tk.active lanes 0, 1 : vector<1x128xi1>
    """

    name = "tk.active"

    lanes = opt_prop_def(IntegerAttr)
    tile = opt_prop_def(DenseArrayBase)
    result = result_def(VectorType.constr(i1))

    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_active(self, self.result.type)

    def print(self, printer: Printer) -> None:
        print_lanes(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ActiveOp:
        properties = parse_lanes(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], properties=properties, attributes=attributes)
