"""How much of a tile is live at once: what a lane has to hold of each of its elements."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.domain import Axes

from .body import Body
from .cost import is_expensive, size_of_element


def live_bits(body: Body, axes: Axes) -> int:
    """The most bits of values that vary over all of `axes` and are live at the same op, per element.

    Ops run in their order, but for loads, which run where they are first read. Both an op's operands and its
    results are live at it. Numbers and positions are none: they are made again.
    """
    last = {value: number for number, op in enumerate(body.ops) for value in op.operands}
    live: dict[SSAValue, int] = {}
    most = 0
    for number, op in enumerate(body.ops):
        here = [*op.operands, *(() if isinstance(op, LoadOp) else op.results)]
        for value in here:
            if axes <= body.domains.get(value, frozenset()) and not isinstance(
                value.owner, arith.ConstantOp | IndexOp
            ):
                live[value] = size_of_element(value.type)
        most = max(most, sum(live.values()))
        live = {value: bits for value, bits in live.items() if last.get(value, -1) > number}
    return most


def registers_wanted(body: Body, axes: Axes = frozenset()) -> int:
    """How many an element wants that varies over `axes`: two of f64, four times that where it is costly."""
    wide = [op for op in body.ops if axes <= body.runs[op] and any(r.type == f64 for r in op.results)]
    return (8 if any(map(is_expensive, wide)) else 2) if wide else 1


def in_order_of_need(body: Body) -> Body:
    """The same ops, each right before the first that needs it; stores and checks come last, in their order.

    `exp(a) + exp(b) + exp(c)`: no three exponentials are live at once, wherever they stood.
    """
    found: dict[Operation, None] = {}
    todo = [(op, False) for sink in reversed(body.sinks()) for op in _owners(sink)]
    while todo:
        op, ready = todo.pop()
        if op in found:
            continue
        if ready:
            found[op] = None
        else:
            todo += [(op, True), *((owner, False) for owner in _owners(op))]
    ops = (*found, *(op for op in body.ops if op not in found))
    return replace(body, ops=ops, position={op: i for i, op in enumerate(ops)})


def _owners(op: Operation) -> list[Operation]:
    """What makes the operands, the last one first."""
    return [value.owner for value in reversed(op.operands) if isinstance(value.owner, Operation)]
