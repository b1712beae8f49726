"""Sorting: along an axis of the iteration space, along a dimension of a tile, in scratch."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, UnitAttr, VectorType, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..arrays import Array, Arrays
from ..index_expr import Expr
from ..op_definition import op_definition
from ..types import element_type, element_type_of
from .arith import vector_of
from .attributes import MapAttr, int64, map_attr, parse_quoted_expr, parse_type_of, parse_value
from .scope import shape_of_lanes, verify_axes, verify_exprs

KEYS = (f32, f64, i32, i64)
"""What is compared: the types that kernels compute in."""


def _verify_key(op: IRDLOperation, element: Attribute) -> None:
    if element not in KEYS:
        raise VerifyException(f"{op.name}: sorts {', '.join(map(str, KEYS))}, got {element}")


def _verify_first(op: SortOp | OrderOp) -> None:
    if op.first is not None and op.first.value.data < 1:
        raise VerifyException(f"{op.name}: the first 1 at least, got {op.first.value.data}")


@op_definition
class SortOp(IRDLOperation):
    """The values along an axis in order, and the positions (i32) that they had there.

    %1, %2 = tk.sort %0 along 1 : f32
    %3, %4 = tk.sort %0 along 1 descending first 8 : i64

    Equal values keep their order. NaN counts as the largest of numbers, so that it comes last, and first if
    `descending`; the zeros are equal. With `first`, what stands at later positions is not defined. The axis
    has less than 2**30 elements.
    """

    name = "tk.sort"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    first = opt_prop_def(IntegerAttr.constr(i64))
    values = result_def(T)
    positions = result_def(i32)

    traits = traits_def(Pure())
    assembly_format = (
        "$value `along` $axis (`descending` $descending^)? (`first` $first^)? attr-dict `:` type($value)"
    )

    @classmethod
    def make(
        cls, value: SSAValue, axis: int, *, descending: bool = False, first: int | None = None
    ) -> SortOp:
        properties: dict[str, Attribute] = {"axis": int64(axis)}
        if descending:
            properties["descending"] = UnitAttr()
        if first is not None:
            properties["first"] = int64(first)
        return cls.create(operands=[value], result_types=[value.type, i32], properties=properties)

    @property
    def along(self) -> int:
        return self.axis.value.data

    def verify_(self) -> None:
        verify_axes(self, (self.along,))
        _verify_key(self, self.value.type)
        _verify_first(self)


@op_definition
class ArrangeOp(IRDLOperation):
    """The elements of a tile in order along one dimension, and the positions that they had, as `tk.sort`.

    %1, %2 = tk.arrange %0 dim 1 : vector<8x128xf32>
    """

    name = "tk.arrange"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    dim = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    values = result_def(T)
    positions = result_def(VectorType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, value: SSAValue, dim: int, *, descending: bool) -> ArrangeOp:
        properties: dict[str, Attribute] = {"dim": int64(dim)}
        if descending:
            properties["descending"] = UnitAttr()
        positions = vector_of(i32, *shape_of_lanes(value.type))
        return cls.create(operands=[value], result_types=[value.type, positions], properties=properties)

    def verify_(self) -> None:
        type_: Attribute = self.value.type
        shape = shape_of_lanes(type_)
        _verify_key(self, element_type(type_))
        if not 0 <= self.dim.value.data < len(shape):
            raise VerifyException(f"tk.arrange: {type_} has no dimension {self.dim.value.data}")
        if self.positions.type != (expected := vector_of(i32, *shape)):
            raise VerifyException(
                f"tk.arrange: positions have type {self.positions.type}, expected {expected}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(f" dim {self.dim.value.data}")
        printer.print_string(" descending" if self.descending is not None else "")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> ArrangeOp:
        value = parse_value(parser)
        parser.parse_keyword("dim")
        dim = parser.parse_integer()
        descending = parser.parse_optional_keyword("descending") is not None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, value)
        op = cls.make(value, dim, descending=descending)
        op.attributes.update(attributes)
        return op


@op_definition
class OrderOp(IRDLOperation):
    """Sort the first `count` elements of scratch in place, and write the positions that they had.

    tk.order %v into %p count "s0" descending first 8 : memref<?xf32>, memref<?xi32>

    As `tk.sort`: with `first`, the elements and positions behind so many are not defined afterwards.
    """

    name = "tk.order"

    values = operand_def(MemRefType.constr())
    positions = operand_def(MemRefType.constr())
    count = prop_def(MapAttr)
    descending = opt_prop_def(UnitAttr)
    first = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def make(cls, values: SSAValue, positions: SSAValue, count: Expr, like: SortOp | None = None) -> OrderOp:
        """`like` says which order, and how much of it."""
        properties: dict[str, Attribute] = {"count": map_attr((count,))}
        for name in ("descending", "first"):
            if like is not None and name in like.properties:
                properties[name] = like.properties[name]
        return cls.create(operands=[values, positions], properties=properties)

    def verify_(self) -> None:
        _verify_key(self, element_type_of(self.values))
        _verify_first(self)
        if element_type_of(self.positions) != i32:
            raise VerifyException(f"tk.order: positions are i32, got {element_type_of(self.positions)}")
        verify_exprs(self, self.count.exprs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.values)
        printer.print_string(" into ")
        printer.print_operand(self.positions)
        printer.print_string(f' count "{self.count.text.data}"')
        printer.print_string(" descending" if self.descending is not None else "")
        printer.print_string(f" first {self.first.value.data}" if self.first is not None else "")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.values.type, self.positions.type], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> OrderOp:
        values = parse_value(parser)
        parser.parse_keyword("into")
        positions = parse_value(parser)
        parser.parse_keyword("count")
        op = cls.make(values, positions, parse_quoted_expr(parser).exprs[0])
        if parser.parse_optional_keyword("descending"):
            op.properties["descending"] = UnitAttr()
        if parser.parse_optional_keyword("first"):
            op.properties["first"] = int64(parser.parse_integer())
        op.attributes.update(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        parse_type_of(parser, values)
        parser.parse_punctuation(",")
        parse_type_of(parser, positions)
        return op


def run_sort(op: SortOp | ArrangeOp | OrderOp, value: Array, dim: int, arrays: Arrays) -> tuple[Array, Array]:
    """Values and positions; what is not defined is all alike."""
    values, order = arrays.sorted_along(value, dim, descending=op.descending is not None)
    places = arrays.cast(order, arrays.xp.int32)
    if isinstance(op, ArrangeOp) or op.first is None or op.first.value.data >= value.shape[dim]:
        return values, places
    size = value.shape[dim]
    shape = [size if i == dim else 1 for i in range(len(value.shape))]
    there = arrays.arange(size).reshape(shape) < op.first.value.data
    return arrays.xp.where(there, values, values[(slice(None),) * dim + (slice(0, 1),)]), arrays.xp.where(
        there, places, arrays.xp.full_like(places, -1)
    )
