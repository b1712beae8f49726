"""What the view ops compute."""

from __future__ import annotations

from itertools import product as positions

from ..attribute_facts import ints
from ..index_expr import parse_exprs
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of, sizes_of
from .creation import as_element
from .view import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
    starts_and_steps,
)
from .window import WindowOp


@semantics(ReshapeOp)
def run_reshape(op: ReshapeOp, args: Args, machine: Machine) -> Results:
    return (args[0].reshape(machine.sizes(sizes_of(op.result))),)


@semantics(TransposeOp)
def run_transpose(op: TransposeOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.permute(args[0], ints(op.perm)),)


@semantics(BroadcastOp)
def run_broadcast(op: BroadcastOp, args: Args, machine: Machine) -> Results:
    sizes = machine.sizes(sizes_of(op.result))
    aligned = [1] * len(sizes)
    for i, d in enumerate(ints(op.dims)):
        aligned[d] = args[0].shape[i]
    return (machine.arrays.broadcast_to(args[0].reshape(aligned), sizes),)


@semantics(SliceOp)
def run_slice(op: SliceOp, args: Args, machine: Machine) -> Results:
    starts, steps = (machine.sizes(values) for values in starts_and_steps(op))
    sizes = machine.sizes(sizes_of(op.result))
    index = tuple(
        slice(start, start + (size - 1) * step + 1 if size else start, step)
        for start, step, size in zip(starts, steps, sizes, strict=True)
    )
    result = args[0][index]
    if list(result.shape) != sizes:
        raise IndexError(f"{op.name} at {op.location}: reads outside its source of shape {args[0].shape}")
    return (result,)


@semantics(ReverseOp)
def run_reverse(op: ReverseOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.flip(args[0], ints(op.dims)),)


@semantics(ConcatOp)
def run_concat(op: ConcatOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.concat(args, op.dim.value.data),)


@semantics(PadOp)
def run_pad(op: PadOp, args: Args, machine: Machine) -> Results:
    low, sizes = machine.sizes(parse_exprs(op.low.data)), machine.sizes(sizes_of(op.result))
    dtype = machine.arrays.dtype(element_type_of(op.result))
    result = machine.arrays.full(sizes, as_element(op.value.value.data, op.result.type), dtype)
    result[tuple(slice(a, a + n) for a, n in zip(low, args[0].shape, strict=True))] = args[0]
    return (result,)


@semantics(WindowOp)
def run_window(op: WindowOp, args: Args, machine: Machine) -> Results:
    sizes = machine.sizes(sizes_of(op.result))
    dims, window, strides, dilation = op.geometry()
    rank = len(args[0].shape)
    result = machine.arrays.full(sizes, 0, args[0].dtype)
    for at in positions(*(range(n) for n in window)):
        index = [slice(None)] * rank
        for d, k, stride, step in zip(dims, at, strides, dilation, strict=True):
            index[d] = slice(k * step, k * step + (sizes[d] - 1) * stride + 1, stride)
        result[(*[slice(None)] * rank, *at)] = args[0][tuple(index)]
    return (result,)
