"""The type `!th.tensor` and the checks that all th ops share."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

from xdsl.dialects.builtin import DYNAMIC_INDEX, I8, MemRefType, NoneAttr, StringAttr, i8
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.utils.exceptions import VerifyException

from ..index_expr import (
    ONE,
    ZERO,
    Expr,
    IndexExprSyntaxError,
    as_expr,
    format_exprs,
    is_nonnegative,
    maximum,
    parse_exprs,
    static_product,
)
from ..types import ELEMENT_TYPES


@irdl_attr_definition
class TensorType(ParametrizedAttribute, TypeAttribute):
    """A tensor handle as ATen knows it: storage, offset, sizes and strides.

    `!th.tensor<f32>`; sizes and strides stand on the op that makes the handle.
    """

    name = "th.tensor"

    element: Attribute = param_def()

    def verify(self) -> None:
        if self.element not in ELEMENT_TYPES.values():
            raise VerifyException(f"th.tensor: {self.element} is not an element type of a tensor")


Memref = MemRefType[Attribute]
ARENA_TYPE: MemRefType[I8] = MemRefType(i8, [DYNAMIC_INDEX])


def is_memref(type_: Attribute) -> TypeGuard[Memref]:
    """As `isa(type_, Memref)`, which makes a constraint for each look."""
    return isinstance(type_, MemRefType)


def exprs_of(name: str, what: str, text: StringAttr) -> tuple[Expr, ...]:
    """The expressions in an attribute; raises VerifyException unless canonical and over symbols."""
    try:
        values = parse_exprs(text.data)
    except (IndexExprSyntaxError, ZeroDivisionError) as error:
        raise VerifyException(f"{name}: {what}: {error}") from error
    if format_exprs(values) != text.data:
        raise VerifyException(
            f'{name}: {what} "{text.data}" is not canonical, write "{format_exprs(values)}"'
        )
    for value in values:
        if any(var.kind != "s" for var in value.variables()):
            raise VerifyException(f'{name}: {what} "{value}" may only use symbols s0, s1, ...')
    return values


def expr_of(name: str, what: str, text: StringAttr) -> Expr:
    """As `exprs_of`, for an attribute that holds exactly one expression."""
    values = exprs_of(name, what, text)
    if len(values) != 1:
        raise VerifyException(f'{name}: {what} "{text.data}" must be one expression')
    return values[0]


@lru_cache(maxsize=16384)
def span(sizes: tuple[Expr, ...], strides: tuple[Expr, ...]) -> Expr:
    """Elements between the first and the last one of a strided array, both included."""
    if static_product(sizes) == 0:
        return ZERO
    last = ZERO
    for size, stride in zip(sizes, strides, strict=True):
        if stride.constant is None or stride.constant >= 0:
            last = last + (size - 1) * stride
    total = last + ONE
    return total if is_nonnegative(total) else maximum(total, ZERO)


def check_flat(name: str, value: SSAValue, numel: Expr) -> None:
    """`value` must be a plain rank-1 memref of `numel` elements."""
    type_ = value.type
    assert is_memref(type_)
    if len(type_.get_shape()) != 1 or not isinstance(type_.layout, NoneAttr):
        raise VerifyException(f"{name}: {type_} is not a flat buffer (rank 1, identity layout)")
    (have,) = type_.get_shape()
    want = DYNAMIC_INDEX if numel.constant is None else numel.constant
    if have != want:
        shown = "?" if want == DYNAMIC_INDEX else want
        raise VerifyException(f"{name}: {type_} must have {shown} elements, the size is {as_expr(numel)}")


def element_of_handle(type_: Attribute) -> Attribute:
    """Element type of a buffer or a tensor handle."""
    if isinstance(type_, TensorType):
        return type_.element
    assert is_memref(type_)
    return type_.get_element_type()
