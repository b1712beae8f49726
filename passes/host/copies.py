"""Kernels that move elements from one layout to another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute

from tilewright.dialects.index_expr import Bounds, Expr, delinearize, dim, linearize, row_major_strides
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.inplace import attach
from tilewright.dialects.tk.kernels import FuncOp

from ..memory.layouts import Layout, coalesced, same_strides
from .outline import kernel_symbols


def copy_function(
    name: str, source: Layout, target: Layout, types: Sequence[Attribute], location: LocationAttr
) -> FuncOp:
    """`target[i] = source[i]` for every element, in row-major order where the sizes differ.

    Where both lie alike, the copy may be the original, if that is needed no more.
    """
    if _is_contiguous(target):
        target = Layout(target.offset, source.sizes, row_major_strides(source.sizes))
    elif _is_contiguous(source):
        source = Layout(source.offset, target.sizes, row_major_strides(target.sizes))
    if source.sizes == target.sizes:
        source, target = coalesced((source, target))
    sizes = target.sizes
    axes = [dim(i) for i in range(len(sizes))]
    read = source.flat(_subscripts(axes, sizes, source.sizes))
    function = FuncOp.make(name, sizes, (), types)
    block = function.body.block
    block.args[0].name_hint, block.args[1].name_hint = "from", "to"
    load = LoadOp.make(block.args[0], (Bounds(sizes).simplify(read),))
    store = StoreOp.make(load.result, block.args[1], (target.flat(axes),))
    for op in (load, store):
        op.location = location
        block.add_op(op)
    if load.subscripts == store.subscripts:
        attach(function, [(0, 0)])
    function.location = location
    function.properties["symbols"] = map_attr(kernel_symbols(sizes, block))
    return function


def _subscripts(axes: Sequence[Expr], sizes: Sequence[Expr], wanted: Sequence[Expr]) -> Sequence[Expr]:
    """Where in a tensor of sizes `wanted` the element lies that is at `axes` in one of `sizes`."""
    if tuple(sizes) == tuple(wanted):
        return axes
    return delinearize(linearize(axes, row_major_strides(sizes)), wanted)


def _is_contiguous(layout: Layout) -> bool:
    """Whether elements follow each other: then any sizes with as many of them do."""
    return same_strides(layout.sizes, layout.strides, row_major_strides(layout.sizes))
