"""Where an op stands: its kernel, and the axes that its expressions may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr
from ..types import element_type

_KERNELS = ("tk.kernel", "tk.func")
_LOOPS = ("tk.for", "tk.tail")


def enclosing_kernel(op: Operation) -> Operation | None:
    """The `tk.kernel` or `tk.func` around `op`."""
    parent = op.parent_op()
    while parent is not None and parent.name not in _KERNELS:
        parent = parent.parent_op()
    return parent


def enclosing_tail(op: Operation) -> Operation | None:
    """The nearest `tk.tail` around `op`."""
    parent = op.parent_op()
    while parent is not None and parent.name not in _KERNELS:
        if parent.name == "tk.tail":
            return parent
        parent = parent.parent_op()
    return None


def bound_axes(op: Operation) -> tuple[Operation | None, frozenset[int] | None]:
    """The kernel around `op` and the axes bound there.

    Before scheduling every axis of the kernel is bound, implicitly; afterwards those of
    the enclosing loops. Both are None for an op outside of any kernel.
    """
    loops: list[int] = []
    parent = op.parent_op()
    while parent is not None and parent.name not in _KERNELS:
        if parent.name in _LOOPS:
            loops.append(parent.properties["axis"].value.data)  # pyright: ignore
        parent = parent.parent_op()
    if parent is None:
        return None, None
    if "scheduled" in parent.properties:
        return parent, frozenset(loops)
    return parent, frozenset(range(len(parent.properties["sizes"].exprs)))  # pyright: ignore


def verify_axes(op: Operation, axes: Sequence[int]) -> None:
    """Axes of an unscheduled kernel that a property names."""
    kernel = enclosing_kernel(op)
    if kernel is None:
        raise VerifyException(f"{op.name} must be inside tk.kernel or tk.func")
    if "scheduled" in kernel.properties:
        raise VerifyException(f"{op.name} cannot be in a scheduled function, its loops are explicit")
    rank = len(kernel.properties["sizes"].exprs)  # pyright: ignore
    if list(axes) != sorted(set(axes)):
        raise VerifyException(f"{op.name}: axes must rise strictly, got {list(axes)}")
    for axis in axes:
        if not 0 <= axis < rank:
            raise VerifyException(f"{op.name}: axis {axis} is outside of the iteration space of rank {rank}")


def verify_exprs(op: Operation, exprs: tuple[Expr, ...], dynamic: int = 0) -> None:
    """Every axis is bound, every `i<n>` has an operand, every symbol of a function is listed."""
    kernel, axes = bound_axes(op)
    if kernel is None or axes is None:
        raise VerifyException(f"{op.name} must be inside tk.kernel or tk.func")
    symbols = kernel.properties.get("symbols")
    known = None if symbols is None else {str(e) for e in symbols.exprs}  # pyright: ignore
    for expr in exprs:
        for var in sorted(expr.variables(), key=str):
            if var.kind == "d" and var.index not in axes:
                raise VerifyException(f"{op.name}: axis {var} is not bound here, bound are {sorted(axes)}")
            if var.kind == "i" and var.index >= dynamic:
                raise VerifyException(f"{op.name}: {var} has no operand, there are {dynamic}")
            if var.kind == "s" and known is not None and str(var) not in known:
                raise VerifyException(f"{op.name}: symbol {var} is not among the function's {sorted(known)}")


def lanes_of(type_: Attribute) -> int | None:
    """Lanes of a vector type, None for a scalar."""
    return cast("VectorType[Attribute]", type_).get_shape()[0] if isinstance(type_, VectorType) else None


def shape_of_lanes(type_: Attribute) -> tuple[int, ...]:
    """The shape of a vector or tile, () for a scalar."""
    return tuple(cast("VectorType[Attribute]", type_).get_shape()) if isinstance(type_, VectorType) else ()


def verify_mask(op: Operation, mask: SSAValue | None, value_type: Attribute) -> None:
    """A mask is i1, or a vector of i1 as wide as the value."""
    if mask is None:
        return
    if element_type(mask.type) != i1 or shape_of_lanes(mask.type) not in ((), shape_of_lanes(value_type)):
        raise VerifyException(f"{op.name}: mask of {value_type} is i1 per lane, got {mask.type}")
