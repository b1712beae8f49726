"""Layouts as `tw.strides` states them, of arguments and results of functions, and of what calls return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation

from tilewright.dialects.index_expr import ZERO, Expr, parse_exprs, row_major_strides
from tilewright.dialects.tw.base import STRIDES, stated_strides
from tilewright.dialects.types import sizes_of, sizes_of_type

from .layouts import Layout, dense
from .result_memory import attributes_of, result_attributes


def layout_at_edge(sizes: tuple[Expr, ...], attrs: Mapping[str, Attribute]) -> Layout:
    """The layout of an argument or result of which so much is said: row-major, if nothing."""
    return Layout(ZERO, sizes, stated_strides(attrs) or row_major_strides(sizes))


def layout_of_argument(arg: BlockArgument) -> Layout:
    """What `tw.strides` says of an argument of a function, else row-major."""
    function = arg.owner.parent_op()
    assert isinstance(function, FuncOp)
    attrs = attributes_of(function.arg_attrs, len(arg.owner.args))[arg.index]
    return layout_at_edge(sizes_of(arg), attrs)


def layout_of_result(op: Operation, index: int) -> Layout:
    """What `tw.strides` on the op says, else row-major."""
    sizes = sizes_of(op.results[index])
    stated = op.attributes.get(STRIDES)
    if isinstance(stated, ArrayAttr):
        strides = cast("ArrayAttr[Attribute]", stated).data[index : index + 1]
        if strides and isinstance(strides[0], StringAttr):
            return Layout(ZERO, sizes, parse_exprs(strides[0].data))
    return dense(sizes)


def result_strides(function: FuncOp) -> list[tuple[Expr, ...] | None]:
    """The strides that each result must have, None of what is no tensor."""
    types: tuple[Attribute, ...] = function.function_type.outputs.data
    return [
        layout_at_edge(sizes_of_type(type_), attrs).strides if type_.name == TensorType.name else None
        for type_, attrs in zip(types, result_attributes(function), strict=True)
    ]
