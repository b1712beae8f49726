"""Ops that make tensors from nothing: constants, ranges and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, inf, isfinite
from typing import cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import base, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from ..index_expr import Expr
from ..op_definition import op_definition
from ..types import element_type, is_float, sizes_of, tensor_type
from .base import (
    EFFECT,
    PURE,
    TENSOR,
    TwOp,
    checked_exprs,
    expect_axis,
    expect_element,
    expect_equal,
    expect_kind,
    expect_rank,
    expr_attr,
    fail,
    int_attr,
)

Scalar = bool | int | float


def scalar_attr(value: Scalar, element: Attribute) -> Attribute:
    """`value` as an attribute of element type `element`, rounded (to an infinity, too) or wrapped to fit."""
    if is_float(element):
        kind, number = cast(AnyFloat, element), float(value)
        try:
            return FloatAttr(number, kind)
        except OverflowError:
            return FloatAttr(copysign(inf, number), kind)
    assert isa(element, IntegerType)
    if element.width.data == 1:
        return IntegerAttr(int(bool(value)), element)
    return IntegerAttr(wrap_int(int(value), element), element)


def wrap_int(value: int, element: IntegerType) -> int:
    """The value of the low bits of `value`, as an integer of this type."""
    bits = element.width.data
    low = 0 if element.signedness.data is Signedness.UNSIGNED else -(1 << (bits - 1))
    return (value - low) % (1 << bits) + low


@op_definition
class ConstantOp(TwOp):
    """A tensor whose elements are in the IR; for small ones (large constants are arguments).

    Floats are finite: the text form of infinities and NaN in `dense` does not read back.

    ```mlir
    %r = tw.constant dense<[1, 2, 3]> : tensor<3xi64>
    ```
    """

    name = "tw.constant"

    value = prop_def(base(DenseIntOrFPElementsAttr))
    result = result_def(TENSOR)

    traits = traits_def(PURE)

    def __init__(self, value: DenseIntOrFPElementsAttr[AnyDenseElement]) -> None:
        self._build((), (value.type,), {"value": value})

    @property
    def repeats(self) -> bool:
        """Whether there are elements, all of them equal."""
        return len(self.value) > 0 and self.value.is_splat()

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        if not isa(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense elements, as dense<[1, 2]> : tensor<2xi64>")
        op = cls(value)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if self.attributes:
            printer.print_op_attributes(self.attributes)

    def check(self) -> None:
        expect_equal(self, "the type of the elements", self.value.type, self.result.type)
        values = self.value.get_values()
        if any(isinstance(v, float) and not isfinite(v) for v in values):
            raise fail(self, "has infinite or NaN elements, expected finite ones (dense text misreads them)")


@op_definition
class FullOp(TwOp):
    """Every element is `value`: a literal of the element type, or an index expression.

    The expression is over symbols (`"s0*2"`); its integer value is converted as by
    `tw.cast` from i64.

    ```mlir
    %r = tw.full 1.5 : f32 -> tensor<8x128xf32>
    %n = tw.full "s0" -> tensor<f32>
    ```
    """

    name = "tw.full"

    value = prop_def(IntegerAttr | FloatAttr | StringAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$value attr-dict `->` type($result)"

    def __init__(self, value: Scalar | Expr, element: Attribute, sizes: Sequence[Expr | int]) -> None:
        attr = expr_attr(value) if isinstance(value, Expr) else scalar_attr(value, element)
        self._build((), (tensor_type(element, sizes),), {"value": attr})

    def check(self) -> None:
        if isinstance(self.value, StringAttr):
            checked_exprs(self, "value", self.value, 1)
            return
        expect_element(self, "result", self.result, self.value.type)


@op_definition
class IotaOp(TwOp):
    """`result[..., i, ...] = start + i * step`, `i` counting along `dim`.

    `start` and `step` are integer index expressions over symbols. Computed in i64 and
    converted to the element type as by `tw.cast`.

    ```mlir
    %r = tw.iota dim 1 start "0" step "2" -> tensor<4x8xi64>
    ```
    """

    name = "tw.iota"

    dim = prop_def(IntegerAttr.constr(i64))
    start = prop_def(StringAttr)
    step = prop_def(StringAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "`dim` $dim `start` $start `step` $step attr-dict `->` type($result)"

    def __init__(
        self,
        element: Attribute,
        sizes: Sequence[Expr | int],
        dim: int = 0,
        start: Expr | int = 0,
        step: Expr | int = 1,
    ) -> None:
        properties = {"dim": int_attr(dim), "start": expr_attr(start), "step": expr_attr(step)}
        self._build((), (tensor_type(element, sizes),), properties)

    def check(self) -> None:
        expect_kind(self, self.result, "number")
        expect_axis(self, self.dim.value.data, len(sizes_of(self.result)))
        checked_exprs(self, "start", self.start, 1)
        checked_exprs(self, "step", self.step, 1)


@op_definition
class RngSeedOp(TwOp):
    """One i64, or a few in a row, drawn from the default generator of the framework, which advances.

    Impure: neither removed nor reordered with another draw. Two in a row are one that draws both.

    ```mlir
    %s = tw.rng_seed : tensor<i64>
    %t = tw.rng_seed : tensor<2xi64>
    ```
    """

    name = "tw.rng_seed"

    result = result_def(TENSOR)

    traits = traits_def(EFFECT)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, count: int | None = None) -> None:
        """`count` numbers; without it one, as a tensor of no dimension."""
        self._build((), (tensor_type(i64, () if count is None else (count,)),))

    def check(self) -> None:
        expect_element(self, "result", self.result, i64)
        sizes = sizes_of(self.result)
        if len(sizes) > 1 or any(size.constant is None for size in sizes):
            raise fail(self, f"result is {self.result.type}, expected a known number of i64 in a row, or one")


class _RandomOp(TwOp):
    """Element `i` (row-major) is a pure function of the seed and of `offset + i`."""

    seed = operand_def(TENSOR)
    offset = prop_def(StringAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$seed `offset` $offset attr-dict `:` type($seed) `->` type($result)"

    def __init__(self, seed: SSAValue, sizes: Sequence[Expr | int], offset: Expr | int = 0) -> None:
        self._build((seed,), (tensor_type(f32, sizes),), {"offset": expr_attr(offset)})

    def check(self) -> None:
        expect_element(self, "seed", self.seed, i64)
        expect_rank(self, "seed", self.seed, 0)
        expect_element(self, "result", self.result, f32)
        checked_exprs(self, "offset", self.offset, 1)


@op_definition
class RngUniformOp(_RandomOp):
    """f32 numbers in [0, 1) from Philox4x32-10, one counter per element.

    With `c = offset + i` (64 bits) and `b = c div 4`: counter words (low b, high b, 0, 0), key
    (low seed, high seed); the number is `(word >> 8) * 2**-24` of word `c mod 4`.

    ```mlir
    %r = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<8x128xf32>
    ```
    """

    name = "tw.rng_uniform"


@op_definition
class RngNormalOp(_RandomOp):
    """f32 numbers of the standard normal distribution; uses `2 * numel` counters.

    `sqrt(-2 * log1p(-u)) * cos(2 * pi * v)`, where u is `rng_uniform` at `offset` and v
    is `rng_uniform` at `offset + numel` (Box and Muller).

    ```mlir
    %r = tw.rng_normal %seed offset "0" : tensor<i64> -> tensor<8x128xf32>
    ```
    """

    name = "tw.rng_normal"


CREATION_OPS = (ConstantOp, FullOp, IotaOp, RngSeedOp, RngUniformOp, RngNormalOp)


def splat_value(op: FullOp) -> float | int | None:
    """The literal that a `tw.full` repeats (0 or 1 on i1); None where it is symbolic."""
    match op.value:
        case StringAttr():
            (expr,) = checked_exprs(op, "value", op.value, 1)
            return expr.constant if expr.constant is None else as_element(expr.constant, op.result.type)
        case _:
            return as_element(op.value.value.data, op.result.type)


def as_element(scalar: float | int, type_: Attribute) -> float | int:
    """A number from an attribute as the element that it stands for; xDSL keeps true as -1."""
    element = element_type(type_)
    if is_float(element):
        return float(scalar)
    return int(scalar != 0) if element == i1 else int(scalar)
