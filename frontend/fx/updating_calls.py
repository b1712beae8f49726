"""Operators that write to their arguments: `tw.update` gives the tensors behind these as they are afterwards.

    torch.ops.cache.append(keys[0], new)

AOTAutograd makes a function of the call (`auto_functionalized_v2`), which names the tensors, and says how the
arguments are views of them. Nothing is copied where such a tensor is an argument of the graph that is written
at its end, or dies there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch._higher_order_ops.auto_functionalize import (
    auto_functionalized_v2,
    get_mutable_args,
    read_view_information_from_args,
)
from torch.fx import Node
from torch.fx.node import map_arg
from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import format_exprs, parse_exprs, row_major_strides
from tilewright.dialects.tw.aten import ArgAttr
from tilewright.dialects.tw.base import STRIDES, exprs_attr
from tilewright.dialects.tw.updating import PartAttr, UpdateOp
from tilewright.passes.memory.layouts import overlaps_itself

from ..aten.aten import UNIT, CallArguments, callee_of, has_effect, result_type
from ..aten.builder import Builder
from ..errors import Unsupported
from ..torch_internals import Operator, is_operator, schema_of
from .strides import kept_layout

Views = Mapping[str, Any]
"""By the names of parameters, how an argument (or each in a list, or none) is a view of a tensor."""


def updated_by(node: Node) -> Operator | None:
    """The operator of a call that AOTAutograd made a function so."""
    if node.target is not auto_functionalized_v2 or not is_operator(node.args[0]):
        return None
    return node.args[0]


def call_updating(
    b: Builder, op: Operator, node: Node, value_of: Callable[[Any], Any]
) -> tuple[SSAValue | None, ...]:
    """Emit the call: what it returns, then the tensors behind arguments as they are then.

    Raises Unsupported.
    """
    named = dict(node.kwargs)
    bases = cast("Sequence[Node]", named.pop("_all_bases"))
    fakes: list[torch.Tensor] = [base.meta["val"] for base in bases]
    returned = _returned(b, op, len(bases))
    views = _views(op, named, fakes)
    call = _Call(b, fakes)
    parameters = [argument.name for argument in schema_of(op).arguments]
    read = {
        name: call.read(value_of(named[name]), named[name])
        for name in parameters
        if name in named and name not in views
    }
    inits = [call.operand(value_of(base), base) for base in bases]
    call.begin()
    args = [call.written(views[name]) if name in views else read[name] for name in parameters]
    operands, strides = zip(*call.given.operands, strict=True)
    types = [result_type(fake, b.symbols) for fake in (*fakes, *returned)]
    lying = [parse_exprs(text) for text in strides]
    made = UpdateOp(
        callee_of(op), operands, args, types, inits, lying, parts=call.parts, impure=has_effect(op)
    )
    layouts = [format_exprs(b.symbols.exprs(fake.stride())) for fake in fakes]
    layouts += [kept_layout(fake, b.symbols) or _row_major(fake, b) for fake in returned]
    if layouts != [_row_major(fake, b) for fake in (*fakes, *returned)]:
        made.attributes[STRIDES] = ArrayAttr(list(map(StringAttr, layouts)))
    b.add(made)
    return (*(made.returned or (None,)), *made.written)


def _returned(b: Builder, op: Operator, bases: int) -> Sequence[torch.Tensor]:
    """What the operator returns, tensors of its own."""
    if bases == 0 or any(r.alias_info is not None for r in schema_of(op).returns):
        raise Unsupported("it returns what it writes to")
    fakes: Sequence[Any] = b.fake[: len(b.fake) - bases]
    if not schema_of(op).returns:
        return ()
    for fake in fakes:
        if not isinstance(fake, torch.Tensor):
            raise Unsupported("it returns something else than tensors")
        b.element_of(fake)  # or Unsupported
    return fakes


def _row_major(fake: torch.Tensor, b: Builder) -> str:
    return format_exprs(row_major_strides(b.symbols.exprs(fake.shape)))


def _views(op: Operator, named: Mapping[str, Any], fakes: Sequence[torch.Tensor]) -> Views:
    """The traced arguments that are written."""
    names, types = get_mutable_args(op)
    traced = dict(map_arg(dict(named), lambda node: node.meta["val"]))
    found = read_view_information_from_args(names, types, traced, list(fakes))
    return {name: _regenerated(view, fakes) for name, view in found.items()}


def _regenerated(view: Any, fakes: Sequence[torch.Tensor]) -> Any:
    if view is None:
        return None
    if isinstance(view, list):
        return [_regenerated(one, fakes) for one in cast("list[Any]", view)]
    return view.base_index, view.regenerate_view(list(fakes))


class _Call:
    """The operands of one call, which lie as they were traced, and the parts of results that it writes."""

    def __init__(self, b: Builder, fakes: Sequence[torch.Tensor]) -> None:
        self.b, self.fakes = b, fakes
        self.given = CallArguments(text_dtypes=False)
        self.parts: list[PartAttr] = []
        self._first = 0
        for fake in fakes:
            b.element_of(fake)  # or Unsupported
            if overlaps_itself(b.symbols.exprs(fake.shape), b.symbols.exprs(fake.stride())):
                raise Unsupported("elements of a tensor that it writes share memory")

    def read(self, value: Any, arg: Any) -> Attribute:
        return self.given.describe(value, self._lying(arg))

    def operand(self, value: SSAValue, base: Node) -> int:
        """The number of an operand that a result begins as."""
        attr = self.given.operand(value, self._lying(base))
        return attr.index.data

    def begin(self) -> None:
        """All operands are known: results have the numbers behind them."""
        self._first = len(self.given.operands)

    def written(self, view: Any) -> Attribute:
        """An argument that is written: a result, or a part of one."""
        if view is None:
            return UNIT
        if isinstance(view, list):
            return ArrayAttr([self.written(one) for one in cast("list[Any]", view)])
        base, fake = cast("tuple[int, torch.Tensor]", view)
        number, exprs = self._first + base, self.b.symbols.exprs
        whole, part = ((exprs(tensor.shape), exprs(tensor.stride())) for tensor in (self.fakes[base], fake))
        if part != whole:
            number = self._first + len(self.fakes) + len(self.parts)
            offset = fake.storage_offset() - self.fakes[base].storage_offset()
            self.parts.append(PartAttr(IntAttr(base), *map(exprs_attr, (exprs((offset,)), *part))))
        return ArgAttr(IntAttr(number))

    def _lying(self, arg: Any) -> Any:
        """The strides of an argument, of whatever it is."""
        if isinstance(arg, list | tuple):
            return tuple(map(self._lying, cast("Sequence[Any]", arg)))
        fake = arg.meta.get("val") if isinstance(arg, Node) else None
        if not isinstance(fake, torch.Tensor):
            return ""
        self.b.element_of(fake)  # or Unsupported
        return format_exprs(self.b.symbols.exprs(fake.stride()))
