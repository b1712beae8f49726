"""Reading and writing arrays at index expressions: what both executors of `tk` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from ..arrays import Array
from ..index_expr import Expr, Var
from ..semantics import Machine
from ..types import element_type_of
from .access import LoadOp, StoreOp
from .lanes import group_of

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


def visited(op: LoadOp | StoreOp, buffer: Array, sizes: Sequence[int], machine: Machine) -> Array | None:
    """A view of the elements of `buffer` that an access without a mask visits at the points of a grid.

    `sizes`: of the grid, none of them 0. None where strides do not say it: of subscripts that are not linear,
    or that are data, and of torch. Raises IndexError.
    """
    if not machine.arrays.is_numpy:
        return None
    start: list[slice] = []
    strides = [0] * len(sizes)
    for expr, size, stride in zip(op.map.exprs, buffer.shape, buffer.strides, strict=True):
        linear = _linear(expr, len(sizes), machine)
        if linear is None:
            return None
        first, steps = linear
        ends = [step * (count - 1) for step, count in zip(steps, sizes, strict=True)]
        least, most = (first + sum(pick(end, 0) for end in ends) for pick in (min, max))
        if least < 0 or most >= size:
            raise _left(op, size, f"{least} to {most}")
        start.append(slice(first, None))
        strides = [whole + step * stride for whole, step in zip(strides, steps, strict=True)]
    return machine.xp.lib.stride_tricks.as_strided(buffer[(*start, ...)], tuple(sizes), tuple(strides))


def _linear(expr: Expr, rank: int, machine: Machine) -> tuple[int, list[int]] | None:
    """The value at the origin of a grid, and the step along each axis."""
    first, steps = 0, [0] * rank
    for monomial, c in expr.terms:
        axis = None
        for atom in monomial:
            if not isinstance(atom, Var) or atom.kind == "i" or (atom.kind == "d" and axis is not None):
                return None
            if atom.kind == "d":
                axis = atom.index
            else:
                c *= machine.symbols[atom]
        if axis is None:
            first += c
        else:
            steps[axis] += c
    return first, steps


def _left(op: LoadOp | StoreOp, size: int, where: object) -> IndexError:
    return IndexError(f"{op.name} [{op.map.text.data}] leaves a dimension of size {size}: {where}")


def _subscripts(
    op: LoadOp | StoreOp, places: Places, active: Array, buffer: Array, machine: Machine
) -> tuple[Array, ...]:
    """Index arrays of the shape of `active`, 0 where that is false; raises IndexError."""
    found: list[Array] = []
    for expr, size in zip(op.map.exprs, buffer.shape, strict=True):
        index = machine.arrays.asarray(evaluate(expr, places, machine.xp), machine.xp.int64)
        if (group := group_of(op)) > 1:
            index = index + machine.arrays.arange(active.shape[-1]) % group
        index = machine.xp.where(active, index, machine.arrays.asarray(0, machine.xp.int64))
        if bool(((index < 0) | (index >= size)).any()) and bool(active.any()):
            raise _left(op, size, index)
        found.append(index)
    return tuple(found)


def loaded_dtype(op: LoadOp, machine: Machine) -> Any:
    """What a load's result is in."""
    element = element_type_of(op.result)
    return machine.xp.int8 if element == i8 else machine.arrays.dtype(element)


def read(
    op: LoadOp, buffer: Array, places: Places, active: Array, other: Array | None, machine: Machine
) -> Array:
    """The elements of `buffer`; `other`, or 0, where `active` is false."""
    arrays = machine.arrays
    dtype = loaded_dtype(op, machine)
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
