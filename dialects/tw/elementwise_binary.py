"""Elementwise ops of two or three operands, comparison, choice and conversion.

Shapes are equal: broadcasting and promotion are explicit. bf16 and f16 operands are
computed in f32 and rounded to nearest even.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.str_enum import StrEnum

from ..op_definition import op_definition
from ..types import is_half, sizes_of, tensor_type
from .base import (
    PURE,
    SAME,
    TENSOR,
    Commutative,
    Elementwise,
    TwOp,
    element_of,
    expect_element,
    expect_kind,
    expect_sizes,
    fail,
)


class BinaryOp(TwOp, ABC):
    """`result[i] = f(lhs[i], rhs[i])`; both operands and the result have one type.

    ```mlir
    %r = tw.add %a, %b : tensor<8x128xf32>
    ```
    """

    ACCEPTS: ClassVar[str]

    lhs = operand_def(SAME)
    rhs = operand_def(SAME)
    result = result_def(SAME)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        self._build((lhs, rhs), (lhs.type,))

    def check(self) -> None:
        expect_kind(self, self.lhs, self.ACCEPTS)


@op_definition
class AddOp(BinaryOp):
    """a + b; integers wrap."""

    name = "tw.add"
    ACCEPTS: ClassVar[str] = "number"

    traits = traits_def(PURE, Elementwise(), Commutative())


@op_definition
class SubOp(BinaryOp):
    """a - b; integers wrap."""

    name = "tw.sub"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class MulOp(BinaryOp):
    """a * b; integers wrap."""

    name = "tw.mul"
    ACCEPTS: ClassVar[str] = "number"

    traits = traits_def(PURE, Elementwise(), Commutative())


@op_definition
class DivOp(BinaryOp):
    """True division of floats; x / 0 is an infinity, 0 / 0 is NaN."""

    name = "tw.div"
    ACCEPTS: ClassVar[str] = "float"


@op_definition
class FloorDivOp(BinaryOp):
    """a / b rounded down; an integer divisor of 0 is an error.

    On floats as torch: `(a - fmod(a, b)) / b`, corrected to the floor; x / 0 is x / 0.
    """

    name = "tw.floor_div"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class TruncDivOp(BinaryOp):
    """Integer a / b rounded towards zero; a divisor of 0 is an error."""

    name = "tw.trunc_div"
    ACCEPTS: ClassVar[str] = "integer"


@op_definition
class FmodOp(BinaryOp):
    """Remainder with the sign of a (C's fmod); an integer divisor of 0 is an error."""

    name = "tw.fmod"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class RemainderOp(BinaryOp):
    """Remainder with the sign of b (Python's %); an integer divisor of 0 is an error."""

    name = "tw.remainder"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class PowOp(BinaryOp):
    """a ** b as C's pow; integers wrap, a negative integer exponent gives 0 unless |a| is 1."""

    name = "tw.pow"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class MaximumOp(BinaryOp):
    """The larger; NaN if either is NaN, b if both are zero."""

    name = "tw.maximum"
    ACCEPTS: ClassVar[str] = "any"


@op_definition
class MinimumOp(BinaryOp):
    """The smaller; NaN if either is NaN, b if both are zero."""

    name = "tw.minimum"
    ACCEPTS: ClassVar[str] = "any"


@op_definition
class FmaxOp(BinaryOp):
    """The larger; the number where one is NaN, a if both are zero (C's fmax)."""

    name = "tw.fmax"
    ACCEPTS: ClassVar[str] = "any"


@op_definition
class FminOp(BinaryOp):
    """The smaller; the number where one is NaN, a if both are zero (C's fmin)."""

    name = "tw.fmin"
    ACCEPTS: ClassVar[str] = "any"


@op_definition
class HypotOp(BinaryOp):
    """sqrt(a*a + b*b) without overflow; inf if either is infinite, whatever the other."""

    name = "tw.hypot"
    ACCEPTS: ClassVar[str] = "float"


@op_definition
class NextafterOp(BinaryOp):
    """The neighbour of a in its type on the way to b; b where they are equal."""

    name = "tw.nextafter"
    ACCEPTS: ClassVar[str] = "f32 or f64"


@op_definition
class Atan2Op(BinaryOp):
    """The angle of the point (b, a), in [-pi, pi]."""

    name = "tw.atan2"
    ACCEPTS: ClassVar[str] = "float"


@op_definition
class CopysignOp(BinaryOp):
    """The magnitude of a with the sign bit of b."""

    name = "tw.copysign"
    ACCEPTS: ClassVar[str] = "float"


@op_definition
class AndOp(BinaryOp):
    """Bitwise and; logical on i1."""

    name = "tw.and"
    ACCEPTS: ClassVar[str] = "integer or i1"

    traits = traits_def(PURE, Elementwise(), Commutative())


@op_definition
class OrOp(BinaryOp):
    """Bitwise or; logical on i1."""

    name = "tw.or"
    ACCEPTS: ClassVar[str] = "integer or i1"

    traits = traits_def(PURE, Elementwise(), Commutative())


@op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or; logical on i1."""

    name = "tw.xor"
    ACCEPTS: ClassVar[str] = "integer or i1"

    traits = traits_def(PURE, Elementwise(), Commutative())


@op_definition
class ShiftLeftOp(BinaryOp):
    """a << b; 0 where b is negative or not below the width."""

    name = "tw.shift_left"
    ACCEPTS: ClassVar[str] = "integer"


@op_definition
class ShiftRightOp(BinaryOp):
    """Arithmetic a >> b (logical on ui8); b outside the width shifts every bit out."""

    name = "tw.shift_right"
    ACCEPTS: ClassVar[str] = "integer"


class Predicate(StrEnum):
    """How `tw.compare` compares."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


@irdl_attr_definition
class PredicateAttr(EnumAttribute[Predicate], SpacedOpaqueSyntaxAttribute):
    """The predicate of `tw.compare`."""

    name = "tw.predicate"


_PREDICATES = {p.value: PredicateAttr(p) for p in Predicate}


@op_definition
class CompareOp(TwOp):
    """Compare elements of equal type. With NaN only `ne` is true; -0.0 equals 0.0.

    ```mlir
    %r = tw.compare lt %a, %b : tensor<8xf32> -> tensor<8xi1>
    ```
    """

    name = "tw.compare"

    predicate = prop_def(PredicateAttr)
    lhs = operand_def(SAME)
    rhs = operand_def(SAME)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: str) -> None:
        properties = {"predicate": _PREDICATES[predicate]}
        self._build((lhs, rhs), (tensor_type(i1, sizes_of(lhs)),), properties)

    def check(self) -> None:
        expect_element(self, "result", self.result, i1)
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.lhs))


@op_definition
class SelectOp(TwOp):
    """`condition ? on_true : on_false`, element by element; the other side may be anything.

    ```mlir
    %r = tw.select %c, %a, %b : tensor<8xi1>, tensor<8xf32>
    ```
    """

    name = "tw.select"

    condition = operand_def(TENSOR)
    on_true = operand_def(SAME)
    on_false = operand_def(SAME)
    result = result_def(SAME)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)"

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> None:
        self._build((condition, on_true, on_false), (on_true.type,))

    def check(self) -> None:
        expect_element(self, "condition", self.condition, i1)
        expect_sizes(self, "condition shape", sizes_of(self.condition), sizes_of(self.result))


@op_definition
class CastOp(TwOp):
    """Convert the element type.

    To a narrower float: round to nearest even. Float to integer: towards zero, any value
    where the number is not representable. To i1: `x != 0` (NaN is true). Between integers:
    keep the low bits. i1 gives 0 and 1.

    A kernel keeps halves in f32 between its ops, so that what it computes may be nearer to the exact
    result than `bf16` and `f16` are. `rounded` forbids that: the program asks for the rounding.

    ```mlir
    %r = tw.cast %x : tensor<8xbf16> -> tensor<8xf32>
    %s = tw.cast %r rounded : tensor<8xf32> -> tensor<8xf16>
    ```
    """

    name = "tw.cast"

    operand = operand_def(TENSOR)
    rounded = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand (`rounded` $rounded^)? attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, element: Attribute, *, rounded: bool = False) -> None:
        properties = {"rounded": UnitAttr()} if rounded else {}
        self._build((operand,), (tensor_type(element, sizes_of(operand)),), properties)

    def check(self) -> None:
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.operand))
        if self.rounded is not None and not is_half(element_of(self.result)):
            raise fail(self, f"rounded to {element_of(self.result)}, expected bf16 or f16")


BINARY_OPS = (
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    FloorDivOp,
    TruncDivOp,
    FmodOp,
    RemainderOp,
    PowOp,
    MaximumOp,
    MinimumOp,
    FmaxOp,
    FminOp,
    HypotOp,
    NextafterOp,
    Atan2Op,
    CopysignOp,
    AndOp,
    OrOp,
    XorOp,
    ShiftLeftOp,
    ShiftRightOp,
)
ELEMENTWISE_OPS = (*BINARY_OPS, CompareOp, SelectOp, CastOp)
