"""Ops on tiles, vectors of several axes: combine along a dimension, multiply matrices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, VectorType, f32, f64, i8, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    operand_def,
    opt_operand_def,
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
from ..types import element_type, is_float, is_float8
from .arith import vector_of
from .attributes import axes_attr, int64, parse_axes, parse_type_of, parse_value, print_axes
from .compute import LOG_ADD_EXP, REDUCTIONS, parse_scan, print_scan, verify_floats, verify_scan
from .scope import shape_of_lanes

PRECISIONS = ("ieee", "tf32")


def _collapsed(type_: Attribute, dims: Sequence[int]) -> Attribute:
    """The type once `dims` have size 1, a scalar where all sizes are 1."""
    shape = [1 if i in dims else n for i, n in enumerate(shape_of_lanes(type_))]
    element = element_type(type_)
    return element if all(n == 1 for n in shape) else vector_of(element, *shape)


COLLAPSES = (*REDUCTIONS, LOG_ADD_EXP)
"""Also what is left of a block that was scanned."""


def _verify_kind(op: IRDLOperation, kind: str, allowed: Sequence[str]) -> None:
    if kind not in allowed:
        raise VerifyException(f"{op.name}: kind is one of {', '.join(allowed)}, got {kind}")


def _verify_dims(op: IRDLOperation, dims: Sequence[int], type_: Attribute) -> None:
    rank = len(shape_of_lanes(type_))
    if not dims or list(dims) != sorted(set(dims)) or not all(0 <= d < rank for d in dims):
        raise VerifyException(f"{op.name}: dimensions of {type_} rise strictly from 0, got {list(dims)}")


@op_definition
class CollapseOp(IRDLOperation):
    """Combine the elements of a tile along `dims`, which get size 1; a scalar, if all have.

    %1 = tk.collapse add %0 dims [1] : vector<8x128xf32> -> vector<8x1xf32>

    In any order; `max` and `min` propagate NaN. Every lane counts, inactive ones too.
    """

    name = "tk.collapse"

    value = operand_def(VectorType)
    kind = prop_def(StringAttr)
    dims = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, kind: str, value: SSAValue, dims: Sequence[int]) -> CollapseOp:
        return cls.create(
            operands=[value],
            result_types=[_collapsed(value.type, dims)],
            properties={"kind": StringAttr(kind), "dims": axes_attr(*dims)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        return ints(self.dims)

    def verify_(self) -> None:
        _verify_kind(self, self.kind.data, COLLAPSES)
        verify_floats(self, self.kind.data, self.value.type)
        _verify_dims(self, self.over, self.value.type)
        if self.result.type != (expected := _collapsed(self.value.type, self.over)):
            raise VerifyException(f"tk.collapse: result has type {self.result.type}, expected {expected}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_operand(self.value)
        printer.print_string(" dims ")
        print_axes(printer, self.dims)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> CollapseOp:
        kind, value = parser.parse_identifier(), parse_value(parser)
        parser.parse_keyword("dims")
        dims = parse_axes(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, value)
        parser.parse_punctuation("->")
        return cls.create(
            operands=[value],
            result_types=[parser.parse_type()],
            properties={"kind": StringAttr(kind), "dims": dims},
            attributes=attributes,
        )


@op_definition
class CumulateOp(IRDLOperation):
    """Running combination along one dimension of a tile, the current element included.

    %1 = tk.cumulate add %0 dim 1 : vector<8x128xf32>
    %2 = tk.cumulate linear %0 by %f dim 1 : vector<8x128xf32>
    """

    name = "tk.cumulate"

    value = operand_def(VectorType)
    factor = opt_operand_def(VectorType)
    kind = prop_def(StringAttr)
    dim = prop_def(IntegerAttr)
    result = result_def(VectorType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, kind: str, value: SSAValue, dim: int, factor: SSAValue | None = None) -> CumulateOp:
        return cls.create(
            operands=[value] if factor is None else [value, factor],
            result_types=[value.type],
            properties={"kind": StringAttr(kind), "dim": int64(dim)},
        )

    def verify_(self) -> None:
        _verify_dims(self, (self.dim.value.data,), self.value.type)
        verify_scan(self, self.kind.data, self.value, self.factor)

    def print(self, printer: Printer) -> None:
        print_scan(printer, self.kind.data, self.value, self.factor)
        printer.print_string(f" dim {self.dim.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> CumulateOp:
        kind, value, factor = parse_scan(parser)
        parser.parse_keyword("dim")
        dim = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, value)
        op = cls.make(kind, value, dim, factor)
        op.attributes.update(attributes)
        return op


@op_definition
class MmaOp(IRDLOperation):
    """Add the product of two tiles to a third: `acc + a b`.

    %1 = tk.mma %acc, %a, %b precision "ieee" : vector<64x32xf32>, vector<64x16xbf16>, vector<16x32xbf16>

    Sums are f32, in any order. With `tf32`, f32 factors may be rounded to 10 bits of mantissa first.
    Factors of 8 bits may be floats of two kinds; those of i8 have sums of i32, which wrap.
    """

    name = "tk.mma"

    acc = operand_def(VectorType)
    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    precision = prop_def(StringAttr)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = (
        "$acc `,` $lhs `,` $rhs `precision` $precision attr-dict `:` type($acc) `,` type($lhs) `,` type($rhs)"
        " `->` type($result)"
    )

    @classmethod
    def make(cls, acc: SSAValue, lhs: SSAValue, rhs: SSAValue, precision: str) -> MmaOp:
        return cls.create(
            operands=[acc, lhs, rhs],
            result_types=[acc.type],
            properties={"precision": StringAttr(precision)},
        )

    def verify_(self) -> None:
        types: list[Attribute] = [self.acc.type, self.lhs.type, self.rhs.type]
        acc, lhs, rhs = (shape_of_lanes(type_) for type_ in types)
        if len(lhs) != 2 or len(rhs) != 2 or acc != (lhs[0], rhs[1]) or lhs[1] != rhs[0]:
            raise VerifyException(f"tk.mma: shapes do not multiply: {', '.join(map(str, types))}")
        left, right = element_type(types[1]), element_type(types[2])
        floats8 = is_float8(left) and is_float8(right)
        floats = left == right and is_float(left) and left != f64
        if not floats8 and not floats and (left, right) != (i8, i8):
            raise VerifyException(
                f"tk.mma: factors are of one float type below f64, 8-bit floats or i8, got {left} and {right}"
            )
        if element_type(types[0]) != (sums := i32 if left == i8 else f32):
            raise VerifyException(f"tk.mma: sums of {left} are {sums}, got {element_type(types[0])}")
        if self.precision.data not in PRECISIONS:
            raise VerifyException(
                f"tk.mma: precision is one of {', '.join(PRECISIONS)}, got {self.precision.data}"
            )
        if self.result.type != self.acc.type:
            raise VerifyException(f"tk.mma: result has type {self.result.type}, expected {types[0]}")
