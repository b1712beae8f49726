"""Reading and writing arrays at index expressions: what both executors of `tk` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from ..arrays import Array
from ..index_expr import Expr, Var
from ..semantics import Machine
from ..types import element_type_of
from .access import LoadOp, StoreOp

Places = Mapping[Var, Any]
"""What each axis, symbol and gather index stands for: integers or integer arrays."""


def evaluate(expr: Expr, places: Places, xp: Any) -> Any:
    """The value of an expression of arrays."""
    total: Any = 0
    for monomial, c in expr.terms:
        value: Any = c
        for atom in monomial:
            if isinstance(atom, Var):
                value = value * places[atom]
                continue
            lhs, rhs = evaluate(atom.lhs, places, xp), evaluate(atom.rhs, places, xp)
            if atom.name == "floordiv":
                value = value * (lhs // rhs)
            elif atom.name == "mod":
                value = value * (lhs % rhs)
            else:
                function = {"max": xp.maximum, "min": xp.minimum}[atom.name]
                value = value * function(xp.asarray(lhs), xp.asarray(rhs))
        total = total + value
    return total


def _subscripts(
    op: LoadOp | StoreOp, places: Places, active: Array, buffer: Array, machine: Machine
) -> tuple[Array, ...]:
    """Index arrays of the shape of `active`, 0 where that is false; raises IndexError."""
    found: list[Array] = []
    for expr, size in zip(op.map.exprs, buffer.shape, strict=True):
        index = machine.arrays.asarray(evaluate(expr, places, machine.xp), machine.xp.int64)
        index = machine.xp.where(active, index, machine.arrays.asarray(0, machine.xp.int64))
        if bool(((index < 0) | (index >= size)).any()) and bool(active.any()):
            raise IndexError(f"{op.name} [{op.map.text.data}] leaves a dimension of size {size}: {index}")
        found.append(index)
    return tuple(found)


def read(
    op: LoadOp, buffer: Array, places: Places, active: Array, other: Array | None, machine: Machine
) -> Array:
    """The elements of `buffer`; `other`, or 0, where `active` is false."""
    arrays = machine.arrays
    dtype = machine.xp.int8 if element_type_of(op.result) == i8 else arrays.dtype(element_type_of(op.result))
    if other is None:
        other = arrays.asarray(0, dtype)
    if not bool(active.any()):
        return machine.xp.where(active, other, other)
    value = arrays.cast(buffer[_subscripts(op, places, active, buffer, machine)], dtype)
    return machine.xp.where(active, value, other)


def write(op: StoreOp, buffer: Array, places: Places, active: Array, value: Array, machine: Machine) -> None:
    """Store the elements of `value` where `active` is true."""
    if not bool(active.any()):
        return
    index = tuple(i[active] for i in _subscripts(op, places, active, buffer, machine))
    value = machine.arrays.cast(machine.arrays.broadcast_to(value, active.shape)[active], buffer.dtype)
    if not index:
        buffer, value = buffer.reshape([1]), value.reshape([-1])
        index = (machine.arrays.full(value.shape, 0, machine.xp.int64),)
    if op.combine is None or op.combine.data == "any":
        buffer[index] = value
    else:
        machine.arrays.combine_at(op.combine.data, buffer, index, value)


class FailedAssertion(Exception):
    """A `tk.assert` that did not hold; carries the message."""


def failed(op: Operation, message: str) -> Exception:
    """The exception that a message stands for."""
    kinds = {"index out of range": IndexError, "division by zero": ZeroDivisionError}
    return kinds.get(message, FailedAssertion)(f"{op.name} at {op.location}: {message}")
