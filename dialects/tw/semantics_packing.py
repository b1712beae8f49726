"""What packing computes."""

from __future__ import annotations

from ..attribute_facts import ints
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of
from .packed_convolution import PackedConvolutionOp, PackFilterOp
from .packing import PackedMatmulOp, PackOp
from .semantics_elementwise import compute
from .semantics_linalg import correlate


@semantics(PackOp)
def run_pack(op: PackOp, args: Args, machine: Machine) -> Results:
    k, n = args[0].shape
    width = op.width.value.data
    if op.group is not None:
        group = op.group.value.data
        panels = args[0].reshape([k // group, group, n // width, width])
        return (machine.arrays.permute(panels, [2, 0, 3, 1]),)
    panels = args[0].reshape([k, n // width, width])
    return (machine.arrays.permute(panels, [1, 0, 2]),)


@semantics(PackedMatmulOp)
def run_packed_matmul(op: PackedMatmulOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.lhs)
    lhs, packed, *bias = (compute(machine, arg, element) for arg in args)
    panels, steps, width, *_ = packed.shape
    if op.group > 1:
        packed = machine.arrays.permute(packed, [0, 1, 3, 2])
    packed = packed.reshape([panels, steps * op.group, width])
    rhs = machine.arrays.permute(packed, [1, 0, 2]).reshape([steps * op.group, panels * width])
    with machine.quiet():
        result = machine.xp.matmul(lhs, rhs)
        for term in bias:
            result = result + term
    return (machine.arrays.store(result, element),)


@semantics(PackFilterOp)
def run_pack_filter(op: PackFilterOp, args: Args, machine: Machine) -> Results:
    outputs, channels, *kernel = args[0].shape
    width = op.width.value.data
    group = 1 if op.group is None else op.group.value.data
    panels = args[0].reshape([outputs // width, width, channels // group, group, *kernel])
    packed = machine.arrays.permute(panels, [0, *range(4, 4 + len(kernel)), 2, 1, 3])
    return (packed if op.group is not None else packed.reshape([*packed.shape[:-1]]),)


@semantics(PackedConvolutionOp)
def run_packed_convolution(op: PackedConvolutionOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.image)
    image, packed, *bias = (compute(machine, arg, element) for arg in args)
    rank, group = len(image.shape), op.filters.group
    panels, *kernel, steps, width = packed.shape[: rank + 1]
    filters = packed.reshape([panels, *kernel, steps, width, group])
    filters = machine.arrays.permute(filters, [0, rank, rank - 1, rank + 1, *range(1, rank - 1)])
    filters = filters.reshape([panels * width, steps * group, *kernel])
    image = machine.arrays.permute(image, [0, rank - 1, *range(1, rank - 1)])
    strides, dilation = ints(op.strides), ints(op.dilation)
    result = correlate(machine, image, filters, strides, dilation, op.groups.value.data)
    result = machine.arrays.permute(result, [0, *range(2, rank), 1])
    for term in bias:
        result = result + term
    return (machine.arrays.store(result, element),)
