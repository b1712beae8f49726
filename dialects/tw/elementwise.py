"""Elementwise ops of one operand.

bf16 and f16 operands are computed in f32 and rounded to nearest even.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def

from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .base import PURE, SAME, TENSOR, Elementwise, TwOp, expect_element, expect_kind, expect_sizes


class UnaryOp(TwOp, ABC):
    """`result[i] = f(operand[i])`, with the operand's type.

    ```mlir
    %r = tw.exp %x : tensor<8x128xf32>
    ```
    """

    ACCEPTS: ClassVar[str]

    operand = operand_def(SAME)
    result = result_def(SAME)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue) -> None:
        self._build((operand,), (operand.type,))

    def check(self) -> None:
        expect_kind(self, self.operand, self.ACCEPTS)


class FloatUnaryOp(UnaryOp, ABC):
    """A unary op on floats; NaN gives NaN."""

    ACCEPTS: ClassVar[str] = "float"


class PredicateOp(TwOp, ABC):
    """`result[i] = f(operand[i])`, a truth value per element of a float tensor.

    ```mlir
    %r = tw.isnan %x : tensor<8xf32> -> tensor<8xi1>
    ```
    """

    operand = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue) -> None:
        self._build((operand,), (tensor_type(i1, sizes_of(operand)),))

    def check(self) -> None:
        expect_kind(self, self.operand, "float")
        expect_element(self, "result", self.result, i1)
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.operand))


@op_definition
class ExpOp(FloatUnaryOp):
    """e**x. exp(-inf) is 0, exp(inf) is inf."""

    name = "tw.exp"


@op_definition
class Exp2Op(FloatUnaryOp):
    """2**x."""

    name = "tw.exp2"


@op_definition
class Expm1Op(FloatUnaryOp):
    """e**x - 1, accurate near 0."""

    name = "tw.expm1"


@op_definition
class LogOp(FloatUnaryOp):
    """Natural logarithm: log(0) is -inf, NaN below 0."""

    name = "tw.log"


@op_definition
class Log2Op(FloatUnaryOp):
    """Base-2 logarithm: log2(0) is -inf, NaN below 0."""

    name = "tw.log2"


@op_definition
class Log10Op(FloatUnaryOp):
    """Base-10 logarithm: log10(0) is -inf, NaN below 0."""

    name = "tw.log10"


@op_definition
class Log1pOp(FloatUnaryOp):
    """log(1 + x), accurate near 0; NaN below -1."""

    name = "tw.log1p"


@op_definition
class SqrtOp(FloatUnaryOp):
    """Square root, correctly rounded; NaN below 0, sqrt(-0.0) is -0.0."""

    name = "tw.sqrt"


@op_definition
class RsqrtOp(FloatUnaryOp):
    """1 / sqrt(x): rsqrt(0) is inf, NaN below 0."""

    name = "tw.rsqrt"


@op_definition
class ReciprocalOp(FloatUnaryOp):
    """1 / x: the reciprocal of 0.0 is inf, of -0.0 is -inf."""

    name = "tw.reciprocal"


@op_definition
class SinOp(FloatUnaryOp):
    """Sine of radians; NaN at infinities."""

    name = "tw.sin"


@op_definition
class CosOp(FloatUnaryOp):
    """Cosine of radians; NaN at infinities."""

    name = "tw.cos"


@op_definition
class TanOp(FloatUnaryOp):
    """Tangent of radians; NaN at infinities."""

    name = "tw.tan"


@op_definition
class AsinOp(FloatUnaryOp):
    """Arc sine in [-pi/2, pi/2]; NaN outside [-1, 1]."""

    name = "tw.asin"


@op_definition
class AcosOp(FloatUnaryOp):
    """Arc cosine in [0, pi]; NaN outside [-1, 1]."""

    name = "tw.acos"


@op_definition
class AtanOp(FloatUnaryOp):
    """Arc tangent in [-pi/2, pi/2]."""

    name = "tw.atan"


@op_definition
class SinhOp(FloatUnaryOp):
    """Hyperbolic sine."""

    name = "tw.sinh"


@op_definition
class CoshOp(FloatUnaryOp):
    """Hyperbolic cosine."""

    name = "tw.cosh"


@op_definition
class TanhOp(FloatUnaryOp):
    """Hyperbolic tangent: 1 at inf, -1 at -inf."""

    name = "tw.tanh"


@op_definition
class AsinhOp(FloatUnaryOp):
    """Inverse hyperbolic sine."""

    name = "tw.asinh"


@op_definition
class AcoshOp(FloatUnaryOp):
    """Inverse hyperbolic cosine; NaN below 1."""

    name = "tw.acosh"


@op_definition
class AtanhOp(FloatUnaryOp):
    """Inverse hyperbolic tangent: inf at 1; NaN outside [-1, 1]."""

    name = "tw.atanh"


@op_definition
class ErfOp(FloatUnaryOp):
    """Error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x."""

    name = "tw.erf"


@op_definition
class ErfcOp(FloatUnaryOp):
    """1 - erf(x), accurate where erf(x) is near 1."""

    name = "tw.erfc"


@op_definition
class LgammaOp(FloatUnaryOp):
    """Logarithm of the absolute value of the gamma function; inf at 0, -1, -2, ..."""

    name = "tw.lgamma"


@op_definition
class SigmoidOp(FloatUnaryOp):
    """1 / (1 + exp(-x)), without overflow for any x."""

    name = "tw.sigmoid"


@op_definition
class FloorOp(FloatUnaryOp):
    """Largest whole number not above x."""

    name = "tw.floor"


@op_definition
class CeilOp(FloatUnaryOp):
    """Smallest whole number not below x."""

    name = "tw.ceil"


@op_definition
class RoundOp(FloatUnaryOp):
    """Nearest whole number, halves to even."""

    name = "tw.round"


@op_definition
class TruncOp(FloatUnaryOp):
    """x without its fraction (towards zero)."""

    name = "tw.trunc"


@op_definition
class NegOp(UnaryOp):
    """-x: flips the sign bit of a float, wraps for integers."""

    name = "tw.neg"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class AbsOp(UnaryOp):
    """Absolute value: clears the sign bit of a float; the lowest integer stays itself."""

    name = "tw.abs"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 in the operand's type; 0.0 for zeros of both signs and for NaN, as in torch."""

    name = "tw.sign"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class LogicalNotOp(UnaryOp):
    """True becomes false, false becomes true."""

    name = "tw.logical_not"
    ACCEPTS: ClassVar[str] = "i1"


@op_definition
class BitwiseNotOp(UnaryOp):
    """Every bit flipped; on i1 the logical negation."""

    name = "tw.bitwise_not"
    ACCEPTS: ClassVar[str] = "integer or i1"


@op_definition
class IsNanOp(PredicateOp):
    """True where x is NaN."""

    name = "tw.isnan"


@op_definition
class IsInfOp(PredicateOp):
    """True where x is inf or -inf."""

    name = "tw.isinf"


UNARY_OPS = (
    ExpOp,
    Exp2Op,
    Expm1Op,
    LogOp,
    Log2Op,
    Log10Op,
    Log1pOp,
    SqrtOp,
    RsqrtOp,
    ReciprocalOp,
    SinOp,
    CosOp,
    TanOp,
    AsinOp,
    AcosOp,
    AtanOp,
    SinhOp,
    CoshOp,
    TanhOp,
    AsinhOp,
    AcoshOp,
    AtanhOp,
    ErfOp,
    ErfcOp,
    LgammaOp,
    SigmoidOp,
    FloorOp,
    CeilOp,
    RoundOp,
    TruncOp,
    NegOp,
    AbsOp,
    SignOp,
    LogicalNotOp,
    BitwiseNotOp,
    IsNanOp,
    IsInfOp,
)
