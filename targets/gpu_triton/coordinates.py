"""Places and masks of lanes: what blocks along an axis are called in the text of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.descriptor import DESCRIPTOR
from tilewright.dialects.tk.lanes import axes_of_lanes, group_of
from tilewright.dialects.tk.loops import ForOp
from tilewright.dialects.tk.scope import shape_of_lanes

from .spelling import enclosed
from .writer import Place, Writer


def write_coordinates(w: Writer, loop: ForOp) -> None:
    """Places and masks of the lanes along the axis of a loop, for every shape of tile inside."""
    axis = loop.axis.value.data
    found: dict[Place, int] = {}
    for op in _inside(loop.body.block, axis):
        axes = axes_of_lanes(op)
        if axis not in axes or DESCRIPTOR in op.attributes:
            continue
        type_ = op.operands[0].type if isinstance(op, StoreOp) else op.results[0].type
        shape, dim = shape_of_lanes(type_), axes.index(axis)
        if shape[dim] > 1:
            group = group_of(op) if dim == len(shape) - 1 else 1
            found.setdefault((axis, dim, len(shape), group), shape[dim])
    for i, (key, size) in enumerate(sorted(found.items())):
        _, dim, rank, group = key
        name = f"x{axis}_each{group}" if group > 1 else f"x{axis}_{dim}{rank}" if i else f"x{axis}"
        lanes = f"tl.arange(0, {size})"
        if rank > 1:
            lanes += f"[{', '.join(':' if d == dim else 'None' for d in range(rank))}]"
        if w.wide:
            lanes += ".to(tl.int64)"
        start = "" if Var("d", axis) in w.zeros else f"{_times(w.axes[Var('d', axis)], group)} + "
        w.line(f"{name} = {start}{lanes}")
        w.coordinates[key] = name
        w.masks.pop(key, None)
        if loop.masked is not None:
            w.masks[key] = name.replace("x", "m", 1)
            w.line(f"{w.masks[key]} = {name} < {w.text(loop.bounds[1] * group)}")


def _times(place: str, group: int) -> str:
    return f"{enclosed(place)} * {group}" if group > 1 else place


def _inside(block: Block, axis: int) -> Iterator[Operation]:
    """All ops in a block, but for those of loops along `axis`."""
    for op in block.ops:
        yield op
        if isinstance(op, ForOp) and op.axis.value.data != axis:
            yield from _inside(op.body.block, axis)
