"""ATen calls, and users' kernels, run through the caller's callback; writes are collected for the end."""

from __future__ import annotations

from math import prod

from xdsl.ir import BlockArgument

from ..semantics import Args, Machine, NoCallback, Results, semantics, semantics_of
from ..types import sizes_of
from .aten import AtenOp, WriteOp
from .triton import TritonOp
from .updating import UpdateOp, UpdatingOp


@semantics(AtenOp, TritonOp, UpdateOp)
def run_aten(op: AtenOp | UpdatingOp, args: Args, machine: Machine) -> Results:
    if machine.aten is None:
        raise NoCallback(op, name="aten")
    return machine.aten(op, args)


@semantics(WriteOp)
def run_write(op: WriteOp, args: Args, machine: Machine) -> Results:
    argument = op.argument
    assert isinstance(argument, BlockArgument)
    sizes = machine.sizes(sizes_of(argument))
    places = machine.arrays.arange(prod(sizes)).reshape(sizes)
    for view in reversed(op.views):
        (places,) = semantics_of(view)(view, [places], machine)
    machine.state.setdefault("writes", []).append((argument.index, places, args[0]))
    return ()
