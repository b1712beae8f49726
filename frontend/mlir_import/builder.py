"""Appends `tw` ops to the function that is being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr, as_expr
from tilewright.dialects.scalars import predicate_name
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw import view
from tilewright.dialects.tw.creation import ConstantOp, FullOp, Scalar
from tilewright.dialects.types import (
    ELEMENT_TYPES,
    bytes_of,
    element_type,
    element_type_of,
    is_float,
    is_half,
    sizes_of,
    ui8,
)

from .errors import cannot, name_of


class Equal(Exception):
    """Two sizes that must be equal: the function is read again with one in place of the other."""

    def __init__(self, kept: Expr, dropped: Expr) -> None:
        super().__init__(f"{kept} = {dropped}")
        self.kept, self.dropped = kept, dropped


@dataclass
class Builder:
    """The new block; `at` is the op being read, whose location the new ops take."""

    block: Block
    location: LocationAttr
    numbers: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])
    """Values of type index: expressions of symbols."""
    splats: dict[SSAValue, Scalar] = field(default_factory=dict[SSAValue, Scalar])
    """New values of which every element is this number."""
    unset: set[SSAValue] = field(default_factory=set[SSAValue])
    """New values whose elements nobody may read (`tensor.empty`)."""

    def add(self, op: Operation) -> SSAValue:
        op.location = self.location
        self.block.add_op(op)
        return op.results[0]

    def full(self, value: Scalar | Expr, element: Attribute, sizes: Sequence[Expr]) -> SSAValue:
        result = self.add(FullOp(value, element, sizes))
        if not isinstance(value, Expr):
            self.splats[result] = value
        return result

    def like(self, value: SSAValue, number: Scalar) -> SSAValue:
        """`number` in the type of `value`."""
        return self.full(number, element_type_of(value), sizes_of(value))

    def constant(self, op: Operation, attr: Attribute) -> SSAValue:
        """Dense elements; one repeated element becomes a `tw.full`."""
        if not isinstance(attr, DenseIntOrFPElementsAttr):
            raise cannot(op, "its elements are not in the text")
        type_ = op.results[0].type
        element, sizes = known_element(op, type_), static_sizes(type_)
        values = attr.get_values()
        if len(values) and attr.is_splat():
            return self.full(plain(values[0], element), element, sizes)
        if any(isinstance(v, float) and not isfinite(v) for v in values):
            raise cannot(op, "some of its elements are infinite or NaN, which only a repeated one may be")
        return self.add(ConstantOp(attr))  # pyright: ignore[reportUnknownArgumentType]

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Conversions of MLIR round."""
        if element_type_of(value) == element:
            return value
        return self.add(bi.CastOp(value, element, rounded=is_half(element)))

    def reshape(self, value: SSAValue, sizes: Sequence[Expr]) -> SSAValue:
        return value if sizes_of(value) == tuple(sizes) else self.add(view.ReshapeOp(value, sizes))

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        if list(perm) == sorted(perm):
            return value
        return self.add(view.TransposeOp(value, perm))

    def broadcast(self, value: SSAValue, sizes: Sequence[Expr], dims: Sequence[int]) -> SSAValue:
        if sizes_of(value) == tuple(sizes):
            return value
        if value in self.splats:
            return self.full(self.splats[value], element_type_of(value), sizes)
        for size, d in zip(sizes_of(value), dims, strict=True):
            if size != ONE:
                same_size(size, sizes[d])
        return self.add(view.BroadcastOp(value, sizes, dims))

    def same_sizes(self, values: Sequence[SSAValue]) -> None:
        """Operands of an elementwise op have equal sizes, by the rules of every dialect read here."""
        for value in values[1:]:
            for a, b in zip(sizes_of(values[0]), sizes_of(value), strict=True):
                same_size(a, b)


def attribute(op: Operation, name: str) -> Attribute | None:
    """Of a property or a discardable attribute; what nobody registered may be either."""
    found = op.properties.get(name)  # an integer 0 is false in xDSL: no `or` here
    return op.attributes.get(name) if found is None else found


def required(op: Operation, name: str) -> Attribute:
    found = attribute(op, name)
    assert found is not None, f"{name} of {op}"
    return found


def predicate_in(op: Operation) -> str:
    """The predicate of a comparison: `olt`, `sge` and so on."""
    return predicate_name(name_of(op), required(op, "predicate"))


def integers(attr: Attribute | None) -> list[int]:
    """The elements of `array<i64: ...>`, nothing where there is no attribute."""
    return [int(n) for n in attr.get_values()] if isinstance(attr, DenseArrayBase) else []


def elements(attr: Attribute) -> tuple[Attribute, ...]:
    """Of an array attribute."""
    assert isinstance(attr, ArrayAttr)
    return tuple(cast("ArrayAttr[Attribute]", attr).data)


def shape_of(type_: Attribute) -> list[int]:
    """The sizes of a tensor type as upstream has them: negative where unknown."""
    assert isinstance(type_, TensorType)
    return list(type_.get_shape())


def scalar_constant(op: Operation) -> tuple[Scalar, Attribute]:
    """The value of an `arith.constant` that is no tensor."""
    attr = attribute(op, "value")
    if not isinstance(attr, IntegerAttr | FloatAttr):
        raise cannot(op, "a constant is a number or dense elements")
    element = element_type(op.results[0].type)
    return plain(attr.value.data, element), element


def same_size(a: Expr, b: Expr) -> None:
    """Raise Equal where two sizes differ and one is a symbol; else leave it to the verifier."""
    if a == b:
        return
    for kept, dropped in ((a, b), (b, a)):
        if len(dropped.terms) == 1 and str(dropped).isalnum() and dropped.constant is None:
            raise Equal(kept, dropped)


def known_element(op: Operation, type_: Attribute) -> Attribute:
    """The element type as `tw` has it."""
    element = element_type(type_)
    if element not in ELEMENT_TYPES.values():
        raise cannot(op, f"element type {element} is not one of {' '.join(ELEMENT_TYPES)}")
    return element


def static_sizes(type_: Attribute) -> list[Expr]:
    assert DYNAMIC_INDEX not in shape_of(type_)
    return [as_expr(n) for n in shape_of(type_)]


def plain(value: object, element: Attribute) -> Scalar:
    """A number of an attribute; xDSL keeps true as -1."""
    assert isinstance(value, int | float)
    return float(value) if is_float(element) else int(value != 0) if element == i1 else int(value)


def bits(element: Attribute) -> int:
    return 1 if element == i1 else 8 * bytes_of(element)


def is_unsigned(element: Attribute) -> bool:
    return element == ui8
