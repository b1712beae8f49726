"""What the ops on tiles compute."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation

from ..arrays import Array
from ..semantics import Machine
from ..types import element_type, is_float
from .scope import shape_of_lanes
from .semantics_scalar import COMBINE, value_dtype
from .tiles import CollapseOp, CumulateOp, MmaOp


def run_tile_op(op: CollapseOp | CumulateOp | MmaOp, args: Sequence[Array], machine: Machine) -> Array:
    """The result of one op on tiles."""
    with machine.quiet():
        if isinstance(op, CollapseOp):
            return _rounded(op, _collapse(op, args[0], machine), machine)
        if isinstance(op, CumulateOp):
            return _rounded(op, _cumulate(op, machine, *args), machine)
        return _multiply(args, element_type(op.result.type), machine)


def _rounded(op: Operation, value: Array, machine: Machine) -> Array:
    element = element_type(op.results[0].type)
    if is_float(element):
        return machine.arrays.store(value, element)
    return machine.arrays.cast(value, value_dtype(machine, op))


def _collapse(op: CollapseOp, value: Array, machine: Machine) -> Array:
    for dim in op.over:
        parts = [_slice(value, dim, i) for i in range(value.shape[dim])]
        while len(parts) > 1:  # in pairs, as a GPU does: the order of sums is free
            pairs = [
                COMBINE[op.kind.data](machine, parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)
            ]
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        value = parts[0]
    return value if shape_of_lanes(op.result.type) else value.reshape([])


def _cumulate(op: CumulateOp, machine: Machine, value: Array, *factors: Array) -> Array:
    dim, parts = op.dim.value.data, list[Array]()
    for i in range(value.shape[dim]):
        part = _slice(value, dim, i)
        if factors and parts:
            part = _slice(factors[0], dim, i) * parts[-1] + part
        elif parts:
            part = COMBINE[op.kind.data](machine, parts[-1], part)
        parts.append(part)
    return machine.arrays.concat(parts, dim)


def _multiply(args: Sequence[Array], sums: Attribute, machine: Machine) -> Array:
    acc, lhs, rhs = (machine.arrays.cast(arg, machine.arrays.dtype(sums)) for arg in args)
    return acc + machine.xp.matmul(lhs, rhs)


def _slice(value: Array, dim: int, i: int) -> Array:
    return value[(slice(None),) * dim + (slice(i, i + 1),)]
