"""What packing computes."""

from __future__ import annotations

from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of
from .packing import PackedMatmulOp, PackOp
from .semantics_elementwise import compute


@semantics(PackOp)
def run_pack(op: PackOp, args: Args, machine: Machine) -> Results:
    k, n = args[0].shape
    width = op.width.value.data
    panels = args[0].reshape([k, n // width, width])
    return (machine.arrays.permute(panels, [1, 0, 2]),)


@semantics(PackedMatmulOp)
def run_packed_matmul(op: PackedMatmulOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.lhs)
    lhs, packed, *bias = (compute(machine, arg, element) for arg in args)
    panels, k, width = packed.shape
    rhs = machine.arrays.permute(packed, [1, 0, 2]).reshape([k, panels * width])
    with machine.quiet():
        result = machine.xp.matmul(lhs, rhs)
        for term in bias:
            result = result + term
    return (machine.arrays.store(result, element),)
