"""What gathers and scatters compute."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ..arrays import Array
from ..attribute_facts import ints
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of, sizes_of
from .indexing import Combine, GatherAlongOp, GatherOp, ScatterAddOp, ScatterAlongOp, ScatterOp, SortOp
from .semantics_elementwise import compute


def _dims_first(machine: Machine, value: Array, dims: Sequence[int]) -> Array:
    rest = [d for d in range(len(value.shape)) if d not in dims]
    return machine.arrays.permute(value, [*dims, *rest])


def _index_to(machine: Machine, value: Array, count: int, source: int, target: int) -> Array:
    """Move `count` neighbouring dimensions from position `source` to `target`."""
    moved = list(range(source, source + count))
    rest = [d for d in range(len(value.shape)) if d not in moved]
    return machine.arrays.permute(value, [*rest[:target], *moved, *rest[target:]])


def _check(op: Operation, index: Array, size: int, low: int) -> None:
    if 0 not in index.shape and not bool(((index >= low) & (index < size)).all()):
        raise IndexError(f"{op.name} at {op.location}: an index lies outside [{low}, {size})")


@semantics(GatherOp)
def run_gather(op: GatherOp, args: Args, machine: Machine) -> Results:
    source, *indices = args
    for index, dim in zip(indices, ints(op.dims), strict=True):
        _check(op, index, source.shape[dim], -source.shape[dim] if op.strict is None else 0)
    picked = _dims_first(machine, source, ints(op.dims))[tuple(indices)]
    return (_index_to(machine, picked, len(indices[0].shape), 0, op.at.value.data),)


@semantics(ScatterOp, ScatterAddOp)
def run_scatter(op: ScatterOp | ScatterAddOp, args: Args, machine: Machine) -> Results:
    target, values, *indices = args
    element = element_type_of(op.target)
    for index, dim in zip(indices, ints(op.dims), strict=True):
        _check(op, index, target.shape[dim], 0 if op.strict is not None else -target.shape[dim])
    result = machine.arrays.copy(compute(machine, target, element))
    view = _dims_first(machine, result, ints(op.dims))
    ordered = _index_to(
        machine, compute(machine, values, element), len(indices[0].shape), op.at.value.data, 0
    )
    if isinstance(op, ScatterOp):
        view[tuple(indices)] = ordered
    else:
        machine.arrays.combine_at("add", view, tuple(indices), ordered)
    return (machine.arrays.store(result, element),)


def _grids(machine: Machine, index: Array, dim: int) -> tuple[Array, ...]:
    """Subscripts that address element `index[...]` along `dim` and the own position elsewhere."""
    rank = len(index.shape)
    lines = [
        machine.arrays.arange(n).reshape([n if e == d else 1 for e in range(rank)])
        for d, n in enumerate(index.shape)
    ]
    return tuple(index if d == dim else line for d, line in enumerate(lines))


@semantics(GatherAlongOp)
def run_gather_along(op: GatherAlongOp, args: Args, machine: Machine) -> Results:
    source, index = args
    dim = op.dim.value.data
    _check(op, index, source.shape[dim], 0)
    return (source[_grids(machine, index, dim)],)


@semantics(ScatterAlongOp)
def run_scatter_along(op: ScatterAlongOp, args: Args, machine: Machine) -> Results:
    target, index, values = args
    element, dim = element_type_of(op.target), op.dim.value.data
    _check(op, index, target.shape[dim], 0)
    result = machine.arrays.copy(compute(machine, target, element))
    values, where = compute(machine, values, element), _grids(machine, index, dim)
    if op.combine.data is Combine.NONE:
        result[where] = values
    else:
        machine.arrays.combine_at(op.combine.data.value, result, where, values)
    return (machine.arrays.store(result, element),)


@semantics(SortOp)
def run_sort(op: SortOp, args: Args, machine: Machine) -> Results:
    """All in order; of these the first ones."""
    dim = op.dim.value.data
    found = machine.arrays.sorted_along(args[0], dim, descending=op.descending is not None)
    (count,) = machine.sizes([sizes_of(op.values)[dim]])
    values, positions = (part[(slice(None),) * dim + (slice(0, count),)] for part in found)
    return values, positions
