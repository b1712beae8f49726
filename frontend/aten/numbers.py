"""Python arithmetic on symbolic numbers, computed as rank-0 f64 tensors.

Integers over symbols need no row: their value is an index expression. What is left are
floats made of them (`x.numel() / 8`), and the lists of `_foreach_` operators.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from tilewright.dialects.tw.elementwise import NegOp, SqrtOp
from tilewright.dialects.tw.elementwise_binary import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, PowOp, SubOp

from . import elementwise, reduction
from .builder import Builder, FloatScalar, Operand, Row

Scalar = Callable[..., Any]


def _computed(op: Callable[..., Operation]) -> Row:
    def row(b: Builder, *values: Operand) -> FloatScalar:
        return FloatScalar(b.emit(op(*(b.operand(value, f64, ()) for value in values))))

    return row


def _as_float(b: Builder, value: Operand) -> FloatScalar:
    return FloatScalar(b.operand(value, f64, ()))


NUMBERS: dict[Scalar, Row] = {
    operator.add: _computed(AddOp),
    operator.sub: _computed(SubOp),
    operator.mul: _computed(MulOp),
    operator.truediv: _computed(DivOp),  # pyright: ignore[reportUnknownMemberType]
    operator.pow: _computed(PowOp),  # pyright: ignore[reportUnknownMemberType]
    operator.neg: _computed(NegOp),
    math.sqrt: _computed(SqrtOp),
    torch.sym_float: _as_float,  # pyright: ignore[reportUnknownMemberType]
    torch.sym_max: _computed(MaximumOp),  # pyright: ignore[reportUnknownMemberType]
    torch.sym_min: _computed(MinimumOp),  # pyright: ignore[reportUnknownMemberType]
}
if hasattr(torch, "_sym_sqrt"):
    NUMBERS[torch._sym_sqrt] = _computed(SqrtOp)  # pyright: ignore


def _per_element(row: Row) -> Row:
    """A row for lists: element `i` of each list argument, other arguments as they are."""

    def listed(b: Builder, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        fakes: Sequence[Any] = b.fake
        results: list[Any] = []
        extra = [kwargs.pop("scalars")] if "scalars" in kwargs else []
        for i, fake in enumerate(fakes):
            b.fake = fake
            picked: list[Any] = [arg[i] if isinstance(arg, list) else arg for arg in (*args, *extra)]
            results.append(row(b, *picked, **kwargs))
        b.fake = fakes
        return tuple(results)

    return listed


_FOREACH: dict[str, tuple[str, ...]] = {
    "add": ("Scalar", "List", "ScalarList", "Tensor"),
    "sub": ("Scalar", "List", "ScalarList"),
    "mul": ("Scalar", "List", "ScalarList", "Tensor"),
    "div": ("Scalar", "List", "ScalarList", "Tensor"),
    "pow": ("Scalar", "List", "ScalarList", "ScalarAndTensor"),
    "maximum": ("Scalar", "List", "ScalarList"),
    "minimum": ("Scalar", "List", "ScalarList"),
    "clamp_max": ("Scalar", "List", "ScalarList"),
    "clamp_min": ("Scalar", "List", "ScalarList"),
    "addcmul": ("Scalar", "ScalarList"),
    "addcdiv": ("Scalar", "ScalarList"),
    "lerp": ("Scalar", "List", "ScalarList"),
    "copy": ("default",),
    **{
        name: ("default",) for name in ("neg", "abs", "sign", *elementwise.FLOAT_UNARY, *elementwise.ROUNDING)
    },
}


def _foreach_norm(b: Builder, x: Any, order: Any = 2, dtype: torch.dtype | None = None) -> Any:
    return reduction.ROWS["aten.norm.Scalar"](b, x, order)


def _foreach_zero(b: Builder, x: Any) -> Any:
    return b.full(0, b.element, b.sizes)


ROWS: dict[str, Row] = {
    **{
        f"aten._foreach_{name}.{overload}": _per_element(elementwise.NAMED[name])
        for name, overloads in _FOREACH.items()
        for overload in overloads
    },
    "aten._foreach_norm.Scalar": _per_element(_foreach_norm),
    "aten._foreach_zero.default": _per_element(_foreach_zero),
}
