"""Loads by tensor descriptor: each program makes its descriptors once, and names a place per load.

    %0 = tk.load %a[d0*1000 + d2] lanes 0, 2 {tk.descriptor} : memref<2048000xbf16> -> vector<128x64xbf16>

inside a loop along d2 becomes

    g0 = tl.make_tensor_descriptor(a0 + d0 * 1000, [tl.minimum(2000 - d0, 128), 1000], [1000, 1], [128, 64])
    for d2 in range(0, 1000, 64):
        v5 = g0.load([0, d2])

A descriptor begins where the program's block does, so that places along the grid need no more than 32 bits.
"""

from __future__ import annotations

from tilewright.dialects.index_expr import dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.descriptor import DESCRIPTOR, Descriptor, Side, axes_around, describe
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.scope import shape_of_lanes

from .errors import NoTritonLowering
from .spelling import shape_text
from .writer import Writer


def write_descriptors(w: Writer, func: FuncOp) -> None:
    """The descriptors of all loads that ask for one."""
    for op in func.body.walk():
        if not isinstance(op, LoadOp) or DESCRIPTOR not in op.attributes:
            continue
        found = describe(op, axes_of_lanes(op), shape_of_lanes(op.result.type), axes_around(op))
        if isinstance(found, str):
            raise NoTritonLowering(op, reason=f"no tensor descriptor brings it: {found}")
        name = f"g{len(w.descriptors)}"
        w.line(f"{name} = {_made(w, op, found)}")
        w.descriptors[op] = name, found


def load_block(w: Writer, op: LoadOp) -> str:
    """`g0.load([0, d2])`, zero where a block hangs over."""
    name, found = w.descriptors[op]
    places = [_place(w, side) for side in (found.outer, found.inner)]
    text = f"{name}.load([{', '.join(places)}])"
    return f"tl.trans({text})" if found.turned else text


def _made(w: Writer, op: LoadOp, found: Descriptor) -> str:
    base, buffer = w.text(found.base), w.names[op.buffer]
    address = buffer if base == "0" else f"{buffer} + ({base})" if " " in base else f"{buffer} + {base}"
    sides = (found.outer, found.inner)
    extents = f"[{', '.join(_extent(w, side) for side in sides)}]"
    block = shape_text((found.outer.block, found.inner.block))
    return f"tl.make_tensor_descriptor({address}, {extents}, [{w.text(found.outer.stride)}, 1], {block})"


def _extent(w: Writer, side: Side) -> str:
    if side.extent is not None:
        return w.text(side.extent)
    left = f"tl.minimum({w.text(side.bound.size - dim(side.axis))}, {side.block})"
    return f"{left}.to(tl.int32)" if w.wide else left


def _place(w: Writer, side: Side) -> str:
    return "0" if side.bound.fixed else w.text(dim(side.axis))
