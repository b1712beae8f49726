"""Launches of Triton kernels that users wrote: their operands lie in memory as they were traced.

A kernel takes addresses and strides. What lies otherwise is copied before, or after, the launch; a result
that begins as an operand is a copy of it, which `plan-memory` makes the operand itself where that dies here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.th.calls import TritonLaunchOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tw.aten import ArgAttr
from tilewright.dialects.tw.base import ints
from tilewright.dialects.tw.triton import ConfigAttr, TritonOp, operand_numbers
from tilewright.dialects.types import sizes_of

from ..memory.layouts import Layout, same_strides
from ..memory.stated import layout_of_result
from .plan_builder import PlanBuilder
from .storage import Place


def launch_given(
    op: TritonOp, targets: Sequence[Place], plan: PlanBuilder, places: dict[SSAValue, Place]
) -> None:
    """Write the launch of `op`, whose results are wanted at `targets`; notes where they are in `places`."""
    outs: list[Place] = []
    for i, (target, init) in enumerate(zip(targets, ints(op.inits), strict=True)):
        out = _lying(target, layout_of_result(op, i), plan)
        if init >= 0:
            plan.copy(places[op.inputs[init]], out)
        outs.append(out)
    read = sorted({i for i in operand_numbers(op.args) if i < len(op.inputs)})
    ins = [_traced(op, i, places[op.inputs[i]], plan) for i in read]
    numbers = {
        number: i for i, number in enumerate((*read, *range(len(op.inputs), len(op.operands) + len(outs))))
    }
    handles = [plan.handle_of(place) for place in (*ins, *outs)]
    properties: dict[str, Attribute] = {
        "kernel": op.kernel,
        "grid": op.grid,
        "args": _renumbered(op.args, numbers),
        "operandSegmentSizes": segments(len(ins), len(outs)),
    }
    if op.candidates is not None:
        found = [ConfigAttr(c.warps, c.stages, c.grid, _renumbered(c.args, numbers)) for c in op.candidates]
        properties["candidates"] = ArrayAttr(found)
    plan.add(TritonLaunchOp.create(operands=handles, properties=properties))
    for result, out, target in zip(op.outputs, outs, targets, strict=True):
        plan.copy(out, target)
        places[result] = target


def may_update(op: TritonOp, number: int, place: Place, places: Mapping[SSAValue, Place]) -> bool:
    """Whether a result may be written to `place`, an argument: nothing else that it needs is there."""
    init = ints(op.inits)[number]
    begun = [op.inputs[i] for i in ints(op.inits) if i not in (-1, init)]
    read = [op.inputs[i] for i in operand_numbers(op.args) if i < len(op.inputs)]
    return all(places[value].storage is not place.storage for value in (*begun, *read))


def _traced(op: TritonOp, number: int, place: Place, plan: PlanBuilder) -> Place:
    """An operand with the strides that the kernel was given."""
    layout = Layout(ZERO, sizes_of(op.inputs[number]), op.strides_of(number))
    if same_strides(layout.sizes, place.layout.strides, layout.strides):
        return place
    copied = plan.temporary(place.storage.element, layout)
    plan.copy(place, copied)
    return copied


def _lying(target: Place, layout: Layout, plan: PlanBuilder) -> Place:
    """`target`, or a temporary where that lies otherwise than the kernel writes."""
    if same_strides(layout.sizes, target.layout.strides, layout.strides):
        return target
    return plan.temporary(target.storage.element, layout)


def _renumbered(args: ArrayAttr[Attribute], numbers: Mapping[int, int]) -> ArrayAttr[Attribute]:
    return ArrayAttr(
        [ArgAttr(IntAttr(numbers[arg.index.data])) if isinstance(arg, ArgAttr) else arg for arg in args]
    )
