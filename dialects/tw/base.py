"""What every family of tw ops shares: constraints, traits, interned attributes, checks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrConstraint, IRDLOperation, VarConstraint, base
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr, IndexExprSyntaxError, as_expr, format_exprs, parse_exprs, product
from ..types import ELEMENT_TYPES, element_type, is_float, sizes_of, sizes_of_type
from ..verification import SelfContained

TENSOR: AttrConstraint[TensorType[Attribute]] = base(TensorType)
SAME = VarConstraint("T", TENSOR)
INTS = DenseArrayBase.constr(i64)
STRIDES = "tw.strides"
"""The strides of an argument or result, as index expressions; of a call a list of them. Absent: row-major."""


class Elementwise(OpTrait):
    """Result element `i` depends only on the operands' elements `i`; all shapes are equal."""


class Commutative(OpTrait):
    """Swapping the two operands leaves every result bit, NaN payloads aside."""


PURE = Pure()


@cache
def _always_pure(cls: type[Operation]) -> bool:
    return cls.has_trait(Pure)


def is_pure(op: Operation) -> bool:
    """True where `op` may be removed, merged or moved: it has no effect beyond its results."""
    if _always_pure(type(op)):
        return True
    effects = [t.get_effects(op) for t in op.get_traits_of_type(MemoryEffect)]
    return bool(effects) and all(e is not None and not e for e in effects)


class TwOp(SelfContained, IRDLOperation, ABC):
    """Base of every tw op; `_build` is the constructor without the generic machinery's cost.

    `check` reads the op and its types and attributes, nothing else: `SelfContained` counts on it.
    """

    def _build(
        self,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        Operation.__init__(self, operands=operands, result_types=results, properties=dict(properties or {}))

    def verify_(self) -> None:
        check_sizes_known(self)
        self.check()

    def check(self) -> None:
        """What constraints cannot say; overridden by the ops that have more to say."""


# Interned attributes


@lru_cache(maxsize=8192)
def _int_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def int_array(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    return _int_array(tuple(values))


@lru_cache(maxsize=1024)
def int_attr(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


@lru_cache(maxsize=8192)
def text(value: str) -> StringAttr:
    return StringAttr(value)


def exprs_attr(values: Sequence[Expr | int]) -> StringAttr:
    """A list of index expressions as the string attribute that holds them."""
    return text(format_exprs(values))


def expr_attr(value: Expr | int) -> StringAttr:
    return text(str(as_expr(value)))


def stated_strides(attrs: Mapping[str, Attribute]) -> tuple[Expr, ...] | None:
    """The strides that are stated of one argument or result, None where it is row-major."""
    strides = attrs.get(STRIDES)
    return parse_exprs(strides.data) if isinstance(strides, StringAttr) else None


# Checks


def fail(op: Operation, why: str) -> VerifyException:
    return VerifyException(f"{op.name}: {why}")


def expect_equal(op: Operation, fact: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise fail(op, f"{fact} is {_show(actual)}, expected {_show(expected)}")


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(str(v) for v in value)}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def expect_sizes(op: Operation, fact: str, actual: Sequence[Expr], expected: Sequence[Expr]) -> None:
    if tuple(actual) != tuple(expected):
        raise fail(op, f"{fact} is [{format_exprs(actual)}], expected [{format_exprs(expected)}]")


def expect_element(op: Operation, fact: str, value: SSAValue, element: Attribute) -> None:
    actual = element_of(value)
    if actual != element:
        raise fail(op, f"{fact} has element type {actual}, expected {element}")


def expect_rank(op: Operation, fact: str, value: SSAValue, rank: int) -> None:
    actual = len(sizes_of(value))
    if actual != rank:
        raise fail(op, f"{fact} has rank {actual}, expected {rank}")


def expect_axes(op: Operation, fact: str, axes: Sequence[int], rank: int) -> None:
    """Axes are strictly increasing and within the rank."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise fail(op, f"{fact} {list(axes)} has {axis}, expected 0 <= axis < {rank}")
    if list(axes) != sorted(set(axes)):
        raise fail(op, f"{fact} is {list(axes)}, expected strictly increasing axes")


def expect_axis(op: Operation, axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise fail(op, f"dim is {axis}, expected 0 <= dim < {rank}")


def checked_exprs(op: Operation, fact: str, attr: StringAttr, count: int | None = None) -> tuple[Expr, ...]:
    """Parse `attr`, which holds `count` expressions of symbols, or any number of them."""
    try:
        values = parse_exprs(attr.data)
    except IndexExprSyntaxError as error:
        raise fail(op, f"{fact}: {error}") from error
    if count is not None and len(values) != count:
        raise fail(op, f'{fact} is "{attr.data}" with {len(values)} expressions, expected {count}')
    for value in values:
        if any(v.kind != "s" for v in value.variables()):
            raise fail(op, f'{fact} is "{attr.data}", expected symbols s0, s1, ... only')
    return values


def element_of(value: SSAValue) -> Attribute:
    return element_type(value.type)


def check_sizes_known(op: Operation) -> None:
    """Every tensor has a known element type and an expression for each size."""
    for value in (*op.operands, *op.results):
        if isinstance(type_ := value.type, TensorType):
            _check_type(cast(TensorType[Attribute], type_))


_KNOWN = frozenset(ELEMENT_TYPES.values())


@lru_cache(maxsize=16384)
def _check_type(type_: TensorType[Attribute]) -> None:
    if type_.get_element_type() not in _KNOWN:
        names = " ".join(ELEMENT_TYPES)
        raise VerifyException(f"{type_}: element type is not one of {names}")
    sizes = sizes_of_type(type_)
    if len(sizes) != type_.get_num_dims():
        raise VerifyException(f"{type_}: {len(sizes)} size expressions for rank {type_.get_num_dims()}")
    for size, extent in zip(sizes, type_.get_shape(), strict=True):
        if size.constant is not None and size.constant < 0:
            raise VerifyException(f"{type_}: size {size} is negative")
        if size.constant is not None and size.constant != extent:
            raise VerifyException(f"{type_}: size {extent} has the expression {size}")


def same_numel(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """False only where the element counts are known to differ."""
    difference = product(a) - product(b)
    return difference.constant in (None, 0)


# Element kinds: which element types a family accepts

KINDS: Mapping[str, Callable[[Attribute], bool]] = {
    "float": is_float,
    "integer": lambda t: isinstance(t, IntegerType) and t != i1,
    "number": lambda t: t != i1,
    "integer or i1": lambda t: isinstance(t, IntegerType),
    "f32 or f64": lambda t: t in (f32, f64),
    "i1": lambda t: t == i1,
    "any": lambda t: True,
}


def expect_kind(op: Operation, value: SSAValue, kind: str) -> None:
    if not KINDS[kind](element_of(value)):
        raise fail(op, f"element type is {element_of(value)}, expected {kind}")


class Effect(MemoryEffect):
    """Keeps an op where it is: it is neither removed, merged nor moved."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return READ_WRITE


READ_WRITE = frozenset({EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)})
EFFECT = Effect()
