"""Kernels and operators of users' that write to tensors: their operands lie in memory as they were traced.

A kernel takes addresses and strides, an operator may look at them. What lies otherwise is copied before, or
after, the launch; a result that begins as an operand is a copy of it, which `plan-memory` makes the operand
itself where that dies here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.th.calls import CallOp, ExternOp, TritonLaunchOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tw.aten import ArgAttr, arg_indices
from tilewright.dialects.tw.triton import ConfigAttr, TritonOp
from tilewright.dialects.tw.updating import UpdateOp, UpdatingOp

from ..memory.layouts import Layout, same_strides
from ..memory.stated import layout_of_result
from .plan_builder import PlanBuilder
from .storage import Place


def launch_given(
    op: UpdatingOp, targets: Sequence[Place], plan: PlanBuilder, places: dict[SSAValue, Place]
) -> None:
    """Write the call of `op`, whose results are wanted at `targets`; notes where they are in `places`."""
    outs: list[Place] = []
    for i, (target, init) in enumerate(zip(targets, ints(op.inits), strict=True)):
        out = _lying(target, layout_of_result(op, i), plan)
        if init >= 0:
            plan.copy(places[op.inputs[init]], out)
        outs.append(out)
    named = sorted(set(arg_indices(op.args)))
    numbers = {number: i for i, number in enumerate(named)}
    ins = [plan.lying(places[op.inputs[i]], op.strides_of(i)) for i in named if i < len(op.inputs)]
    written = [*outs, *_parts(op, outs)]
    writes = [written[i - len(op.inputs)] for i in named if i >= len(op.inputs)]
    handles = [plan.handle_of(place) for place in (*ins, *writes)]
    properties: dict[str, Attribute] = {"args": _renumbered(op.args, numbers)}
    sizes = segments(len(ins), len(writes))
    match op:
        case TritonOp():
            properties |= {**_launched(op, numbers), "operandSegmentSizes": sizes}
            plan.add(TritonLaunchOp.create(operands=handles, properties=properties))
        case UpdateOp() if op.returned:
            properties["callee"] = op.callee
            layouts = [layout_of_result(op, op.outputs.index(result)) for result in op.returned]
            places.update(plan.call(CallOp, handles, properties, op.returned, layouts))
        case _:
            properties |= {"callee": op.properties["callee"], "operandSegmentSizes": sizes}
            plan.add(ExternOp.create(operands=handles, properties=properties))
    for result, out, target in zip(op.written, outs, targets, strict=True):
        plan.copy(out, target)
        places[result] = target


def _parts(op: UpdatingOp, outs: Sequence[Place]) -> Iterator[Place]:
    """What the call writes to is a part of a result, sometimes."""
    parts = op.parts if isinstance(op, UpdateOp) else None
    for part in parts or ():
        whole = outs[part.result.data]
        (offset,), sizes, strides = (parse_exprs(t.data) for t in (part.offset, part.sizes, part.strides))
        yield Place(whole.storage, Layout(whole.layout.offset + offset, sizes, strides))


def _launched(op: TritonOp, numbers: Mapping[int, int]) -> dict[str, Attribute]:
    """What only a kernel has."""
    properties: dict[str, Attribute] = {"kernel": op.kernel, "grid": op.grid}
    if op.candidates is not None:
        found = [ConfigAttr(c.warps, c.stages, c.grid, _renumbered(c.args, numbers)) for c in op.candidates]
        properties["candidates"] = ArrayAttr(found)
    return properties


def may_update(op: UpdatingOp, number: int, place: Place, places: Mapping[SSAValue, Place]) -> bool:
    """Whether a result may be written to `place`, an argument: nothing else that it needs is there."""
    init = ints(op.inits)[number]
    begun = [op.inputs[i] for i in ints(op.inits) if i not in (-1, init)]
    read = [op.inputs[i] for i in arg_indices(op.args) if i < len(op.inputs)]
    return all(places[value].storage is not place.storage for value in (*begun, *read))


def _lying(target: Place, layout: Layout, plan: PlanBuilder) -> Place:
    """`target`, or a temporary where that lies otherwise than the kernel writes."""
    if same_strides(layout.sizes, target.layout.strides, layout.strides):
        return target
    return plan.temporary(target.storage.element, layout)


def _renumbered(args: ArrayAttr[Attribute], numbers: Mapping[int, int]) -> ArrayAttr[Attribute]:
    return ArrayAttr([_renumbered_one(arg, numbers) for arg in args])


def _renumbered_one(arg: Attribute, numbers: Mapping[int, int]) -> Attribute:
    match arg:
        case ArgAttr():
            return ArgAttr(IntAttr(numbers[arg.index.data]))
        case ArrayAttr():
            return _renumbered(arg, numbers)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return arg
