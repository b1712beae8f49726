"""How much of a tile is live at once: what a lane has to hold of each of its elements."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.domain import Axes

from .body import Body
from .cost import size_of_element


def live_bits(body: Body, axes: Axes) -> int:
    """The most bits of values that vary over all of `axes` and are live at the same op, per element.

    Ops run in their order, but for loads, which run where they are first read. Both an op's operands and its
    results are live at it.
    """
    last = {value: number for number, op in enumerate(body.ops) for value in op.operands}
    live: dict[SSAValue, int] = {}
    most = 0
    for number, op in enumerate(body.ops):
        here = [*op.operands, *(() if isinstance(op, LoadOp) else op.results)]
        for value in here:
            if axes <= body.domains.get(value, frozenset()) and not isinstance(value.owner, arith.ConstantOp):
                live[value] = size_of_element(value.type)
        most = max(most, sum(live.values()))
        live = {value: bits for value, bits in live.items() if last.get(value, -1) > number}
    return most
