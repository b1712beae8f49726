"""Tensor types with symbolic sizes, and the questions that every part asks of a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    VectorType,
    bf16,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.utils.exceptions import VerifyException

from .attribute_facts import once
from .index_expr import Expr, IndexExprSyntaxError, as_expr, format_exprs, parse_exprs, static_product

ui8 = IntegerType(8, Signedness.UNSIGNED)

ELEMENT_TYPES: dict[str, Attribute] = {
    "f64": f64,
    "f32": f32,
    "bf16": bf16,
    "f16": f16,
    "i64": i64,
    "i32": i32,
    "i16": i16,
    "i8": i8,
    "ui8": ui8,
    "i1": i1,
}
FLOAT8: Mapping[str, Attribute] = {
    "e4m3fn": f8E4M3FN,
    "e4m3fnuz": f8E4M3FNUZ,
    "e5m2": f8E5M2,
    "e5m2fnuz": f8E5M2FNUZ,
}
"""What the bits of an i8 may stand for, by torch's names: types of values in kernels, not of memory."""
SAME_BITS: Mapping[Attribute, Attribute] = {f32: i32, i32: f32, f64: i64, i64: f64}
"""As what the bits of an element of memory can be read."""
_BYTES: dict[Attribute, int] = {
    f64: 8, f32: 4, bf16: 2, f16: 2, i64: 8, i32: 4, i16: 2, i8: 1, ui8: 1, i1: 1,
    **dict.fromkeys(FLOAT8.values(), 1),
}  # fmt: skip


@irdl_attr_definition
class ShapeAttr(ParametrizedAttribute):
    """The sizes of a tensor of which at least one is symbolic: `#tw.shape<"4, s0">`."""

    name = "tw.shape"

    text: StringAttr = param_def()

    def verify(self) -> None:
        try:
            sizes = parse_exprs(self.text.data)
        except IndexExprSyntaxError as error:
            raise VerifyException(f"tw.shape: {error}") from error
        if format_exprs(sizes) != self.text.data:
            raise VerifyException(
                f'tw.shape: "{self.text.data}" is not canonical, write "{format_exprs(sizes)}"'
            )

    @property
    def sizes(self) -> tuple[Expr, ...]:
        return parse_exprs(self.text.data)


@lru_cache(maxsize=16384)
def _tensor_type(element: Attribute, sizes: tuple[Expr, ...]) -> TensorType[Attribute]:
    shape = [DYNAMIC_INDEX if n.constant is None else n.constant for n in sizes]
    if DYNAMIC_INDEX not in shape:
        return TensorType(element, shape)
    return TensorType(element, shape, ShapeAttr(StringAttr(format_exprs(sizes))))


def tensor_type(element: Attribute, sizes: Sequence[Expr | int]) -> TensorType[Attribute]:
    """The (interned) tensor type with these sizes."""
    return _tensor_type(element, tuple(as_expr(n) for n in sizes))


@lru_cache(maxsize=16384)
def _flat_memref(element: Attribute, numel: Expr) -> MemRefType[Attribute]:
    return MemRefType(element, [DYNAMIC_INDEX if numel.constant is None else numel.constant])


def flat_memref(element: Attribute, numel: Expr | int) -> MemRefType[Attribute]:
    """A rank-1 buffer of `numel` elements."""
    return _flat_memref(element, as_expr(numel))


@once
def sizes_of_type(type_: Attribute) -> tuple[Expr, ...]:
    """Sizes of a tensor type; raises VerifyException where a `?` has no expression."""
    assert isinstance(type_, TensorType)
    if isinstance(type_.encoding, ShapeAttr):
        return type_.encoding.sizes
    if DYNAMIC_INDEX in type_.get_shape():
        raise VerifyException(f'{type_} has a size without an expression, add #tw.shape<"...">')
    return tuple(as_expr(n) for n in type_.get_shape())


def sizes_of(value: SSAValue) -> tuple[Expr, ...]:
    return sizes_of_type(value.type)


def rank_of(value: SSAValue) -> int:
    return rank_of_type(value.type)


def rank_of_type(type_: Attribute) -> int:
    assert isinstance(type_, TensorType | MemRefType)
    return type_.get_num_dims()


def same_but_along(dim: int, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
    """Whether sizes of one rank are the same in every dimension but `dim`."""
    return all(a == b for d, (a, b) in enumerate(zip(one, other, strict=True)) if d != dim)


def numel_of(value: SSAValue) -> int | None:
    """Number of elements, None where it depends on a symbolic size."""
    return static_product(sizes_of(value))


def has_symbolic_size(value: SSAValue) -> bool:
    """Whether any size is an expression, that of a tensor without elements too."""
    return any(size.constant is None for size in sizes_of(value))


def element_type(type_: Attribute) -> Attribute:
    """Element type of a tensor, memref or vector; a scalar type is its own."""
    if isinstance(type_, TensorType | MemRefType | VectorType):
        return type_.get_element_type()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return type_


def element_type_of(value: SSAValue) -> Attribute:
    return element_type(value.type)


def bytes_of(element: Attribute) -> int:
    """Size of one element in memory, in bytes (torch.bool takes one)."""
    return _BYTES[element]


def is_float(element: Attribute) -> bool:
    return isinstance(element, Float64Type | Float32Type | BFloat16Type | Float16Type)


def is_half(element: Attribute) -> bool:
    """True for the 16-bit floats, which are stored as such and computed in f32."""
    return isinstance(element, BFloat16Type | Float16Type)


def is_float8(element: Attribute) -> bool:
    """True for the floats of a byte, which a kernel makes of the bits of an i8."""
    return element in FLOAT8.values()


def compute_type(element: Attribute) -> Attribute:
    """The type in which a kernel computes on values stored as `element`."""
    if is_half(element):
        return f32
    return i32 if 1 < integer_width(element) < 32 else element


def integer_width(element: Attribute) -> int:
    """The bits of an integer; 0 of any other type."""
    return element.width.data if isinstance(element, IntegerType) else 0  # pyright: ignore


def scalar_type(element: Attribute) -> Attribute:
    """What `tk.load` yields: `element` without signedness (`arith` is signless)."""
    return i8 if element == ui8 else element
