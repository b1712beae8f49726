"""Results that are little work from what their kernel stores beside them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ONE, Var
from tilewright.dialects.ir_access import operands_of, ops_of
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import is_half

from ..kernels.body import combined_axes, store_to
from ..kernels.kernel_builder import KernelBuilder

_MOST_OPS = 16
_NOT_OF_VALUES = frozenset[type[Operation]]((IndexOp, RandomOp, CallOp))


def from_stored_beside(value: OpResult) -> KernelOp | None:
    """A kernel that makes `value` of other results of its kernel, behind which it stands, and of its inputs.

    %y, %z = tk.kernel ... {          %y, %z = tk.kernel ... {
      tk.store %0, %a[d0, d1] ...       tk.store %0, %a[d0, d1] ...
      %1 = arith.negf %0 : f32          ...
      tk.store %1, %b[d0, d1] ...     %n = tk.kernel [64, 8] ins(%y ...) {
                                        %0 = tk.load %a[d0, d1] ...
                                        %1 = arith.negf %0 : f32
                                        tk.store %1, %b[d0, d1] ...
    """
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    store = store_to(kernel.destinations[value.index])
    if len(kernel.results) == 1 or store is None or store.over:
        return None
    beside = _beside(kernel, store)
    if (ops := _ops_from(beside, store.value)) is None:
        return None
    read = {operand for op in ops for operand in operands_of(op) if operand in beside}
    inputs = list(dict.fromkeys(result for made, result in beside.items() if made in read))
    if not inputs:
        return None
    loaded_from = dict.fromkeys(op.buffer for op in ops if isinstance(op, LoadOp))
    given = dict(zip(kernel.sources, kernel.operands, strict=True))
    used = {v for e in store.subscripts for v in e.variables()}
    space = [size if Var("d", axis) in used else ONE for axis, size in enumerate(kernel.space)]
    b = KernelBuilder(kernel.location, space, [*inputs, *map(given.__getitem__, loaded_from)], [value.type])
    known: dict[SSAValue, SSAValue] = dict(zip(loaded_from, b.kernel.sources[len(inputs) :], strict=True))
    for number, result in enumerate(inputs):
        loaded = b.load(number, store.subscripts)
        known |= {made: _as(made, loaded) for made, beside_it in beside.items() if beside_it is result}
    for op in ops:
        copy = op.clone(known)
        b.add(copy)
        copy.location = op.location
        known.update(zip(op.results, copy.results, strict=True))
    b.add(StoreOp.make(known[store.value], b.kernel.destinations[0], store.subscripts))
    Rewriter.insert_op(b.kernel, InsertPoint.after(kernel))
    return b.kernel


def _beside(kernel: KernelOp, store: StoreOp) -> dict[SSAValue, OpResult]:
    """What `kernel` stores at the same places as `store`, also before it is rounded to a half, and where."""
    found: dict[SSAValue, OpResult] = {}
    for result, destination in zip(kernel.results, kernel.destinations, strict=True):
        other = store_to(destination)
        if other is None or other is store or other.over or other.subscripts != store.subscripts:
            continue
        found.setdefault(other.value, result)
        rounded = other.value.owner
        if isinstance(rounded, arith.TruncFOp) and rounded.input.type == f32 and is_half(other.value.type):
            found.setdefault(rounded.input, result)
    return found


def _as(made: SSAValue, loaded: SSAValue) -> SSAValue:
    """What is loaded, in the type of what was stored: as memory holds it, or as kernels compute."""
    owner = loaded.owner
    return loaded if made.type == loaded.type or not isinstance(owner, Operation) else owner.operands[0]


def _ops_from(known: Mapping[SSAValue, OpResult], value: SSAValue) -> list[Operation] | None:
    """The few ops that make `value` of what is known, and of what is loaded as it is, in order."""
    todo, found = [value], set[Operation]()
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Operation) or type(op) in _NOT_OF_VALUES or combined_axes(op):
            return None
        if isinstance(op, LoadOp):
            if len(op.operands) > 1:  # at gathered positions, or under a mask
                return None
            found.add(op)
        elif op not in found:
            found.add(op)
            todo += [operand for operand in operands_of(op) if operand not in known]
        if len(found) > _MOST_OPS:
            return None
    block = value.owner.parent_block() if isinstance(value.owner, Operation) else None
    assert block is not None
    return [op for op in ops_of(block) if op in found]
