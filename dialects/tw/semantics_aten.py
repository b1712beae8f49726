"""ATen calls, and users' kernels, run through the caller's callback; writes are collected for the end."""

from __future__ import annotations

from xdsl.ir import BlockArgument

from ..semantics import Args, Machine, NoCallback, Results, semantics
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
    assert isinstance(op.target, BlockArgument)
    machine.state.setdefault("writes", []).append((op.target.index, args[0]))
    return ()
