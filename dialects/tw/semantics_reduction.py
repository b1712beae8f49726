"""What the reductions compute. Half types accumulate in f32."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..arrays import Array
from ..attribute_facts import ints
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of, is_float
from .reduction import (
    CUMULATIVE_OPS,
    AllOp,
    AnyOp,
    ArgmaxOp,
    ArgminOp,
    ArgReduceOp,
    CumulativeOp,
    LinearScanOp,
    MaxOp,
    MinOp,
    MomentsOp,
    ProdOp,
    ReduceOp,
    SumOp,
)
from .semantics_elementwise import compute

NAMES: Mapping[type[ReduceOp], str] = {
    SumOp: "sum",
    ProdOp: "prod",
    MaxOp: "amax",
    MinOp: "amin",
    AnyOp: "any",
    AllOp: "all",
}


@semantics(*NAMES)
def run_reduce(op: ReduceOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.source)
    with machine.quiet():
        value = machine.arrays.reduce(NAMES[type(op)], compute(machine, args[0], element), ints(op.axes))
    return (machine.arrays.store(value, element),)


@semantics(MomentsOp)
def run_moments(op: MomentsOp, args: Args, machine: Machine) -> Results:
    element, axes, arrays = element_type_of(op.source), ints(op.axes), machine.arrays
    with machine.quiet():
        value = compute(machine, args[0], element)
        kept = [1 if i in axes else n for i, n in enumerate(value.shape)]
        count = arrays.full(kept, float(prod(value.shape[i] for i in axes)), value.dtype)
        mean = arrays.reduce("sum", value, axes).reshape(kept) / count
        apart = value - mean
        squares = arrays.reduce("sum", apart * apart, axes)
        mean = (mean + (mean - mean)).reshape(squares.shape)
    return arrays.store(mean, element), arrays.store(squares, element)


@semantics(ArgmaxOp, ArgminOp)
def run_arg_reduce(op: ArgReduceOp, args: Args, machine: Machine) -> Results:
    """NaN is found by its own mask, so that the first one wins in every namespace."""
    name, dim = op.name.removeprefix("tw."), op.dim.value.data
    value = args[0]
    if value.dtype == machine.xp.bool:
        value = machine.arrays.cast(value, machine.xp.int8)
    position = machine.arrays.arg_reduce(name, value, dim)
    if is_float(element_type_of(op.source)):
        nan = machine.xp.isnan(value)
        first = machine.arrays.arg_reduce("argmax", machine.arrays.cast(nan, machine.xp.int8), dim)
        position = machine.xp.where(machine.arrays.reduce("any", nan, (dim,)), first, position)
    return (position,)


@semantics(*CUMULATIVE_OPS)
def run_cumulative(op: CumulativeOp, args: Args, machine: Machine) -> Results:
    element, name = element_type_of(op.source), op.name.removeprefix("tw.")
    with machine.quiet():
        value = machine.arrays.cumulate(name, compute(machine, args[0], element), op.dim.value.data)
    return (machine.arrays.store(value, element),)


@semantics(LinearScanOp)
def run_linear_scan(op: LinearScanOp, args: Args, machine: Machine) -> Results:
    element, dim = element_type_of(op.source), op.dim.value.data
    source, factor = (compute(machine, value, element) for value in args)

    def at(value: Array, i: int) -> Array:
        return value[(slice(None),) * dim + (slice(i, i + 1),)]

    parts: list[Array] = []
    with machine.quiet():
        for i in range(source.shape[dim]):
            parts.append(at(factor, i) * parts[-1] + at(source, i) if parts else at(source, i))
    return (machine.arrays.store(machine.arrays.concat(parts, dim) if parts else source, element),)
