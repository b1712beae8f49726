"""Triton kernels of the user's: a node that launches one becomes `tw.triton`.

    add[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)

Dynamo makes of it a node with the kernel, its grid and its arguments, and AOTAutograd says which tensors it
writes. A tensor that `torch.empty` made for the kernel to fill is no operand: nobody reads what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch._higher_order_ops.triton_kernel_wrap import (
    kernel_side_table,
    triton_kernel_wrapper_functional,
    triton_kernel_wrapper_mutation,
)
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, IntegerAttr, StringAttr, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, row_major_strides
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.tw.base import STRIDES, exprs_attr
from tilewright.dialects.tw.triton import ConfigAttr, JitAttr, TritonOp
from tilewright.passes.memory.layouts import overlaps_itself

from ..aten.aten import callee_of, result_type
from ..aten.builder import Builder
from ..errors import Unsupported
from ..torch_internals import is_operator
from .triton_text import literal, text_of, triton_module

_WARPS, _STAGES = 4, 3
"""Triton's defaults."""
_EMPTY = frozenset(("aten::empty.memory_format", "aten::empty_strided", "aten::empty_permuted"))
_FURTHER = (("num_ctas", 1), ("maxnreg", None), ("pre_hook", None))
"""What a configuration may have that no launch of ours has, and what stands for its absence."""
_INTEGERS = {"i1": i1, "u1": i1, "i32": i32, "i64": i64}


@dataclass(frozen=True)
class Given:
    """What a kernel of the user's is compiled of."""

    function: Any
    """The `triton.JITFunction`."""
    configs: Sequence[Config]
    """Ways to launch it, of which the first is taken where none is timed."""


@dataclass(frozen=True)
class Config:
    """What `triton.Config` says of one way to launch a kernel."""

    constants: Mapping[str, Any]
    """Parameters that it gives."""
    warps: int
    stages: int


def launches_triton(target: Any) -> bool:
    """Whether a node with this target launches a kernel of the user's."""
    return target is triton_kernel_wrapper_functional or target is triton_kernel_wrapper_mutation


def kernels_in(gm: GraphModule) -> Iterator[str]:
    """What a graph's code does not say of the kernels that it launches: their texts and constants."""
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            if launches_triton(node.target):
                try:
                    given = _given(node)
                    constants = _constants_of(node)
                    yield f"{text_of(given.function)} {given.configs} {constants!r}"
                except Unsupported as reason:
                    yield f"{reason.reason} {node.kwargs['kernel_idx']}"


def call_triton(b: Builder, node: Node, value_of: Callable[[Any], Any]) -> dict[str, SSAValue]:
    """Emit the launch that `node` asks for: its results by the names of parameters. Raises Unsupported."""
    given = _given(node)
    if node.kwargs["tma_descriptor_metadata"]:
        raise _left("a tensor descriptor that the host makes is among its arguments")
    tensors = cast("Mapping[str, Any]", node.kwargs["kwargs"])
    written = [name for name in cast("Sequence[str]", node.kwargs["tensors_to_clone"]) if name in tensors]
    if not written:
        raise _left("it writes to no tensor that torch knows of")
    call = _Call(b, given, _constants_of(node), tensors, written, value_of)
    grids = cast("Sequence[Sequence[Any]]", node.kwargs["grid"])
    return call.emit([tuple(_size(value_of(size)) for size in grid) for grid in grids])


def _left(why: str) -> Unsupported:
    return Unsupported(why, "TW1105")


def _size(value: Any) -> Expr:
    if isinstance(value, int | Expr):
        return as_expr(value)
    raise _left(f"its grid is made of {value}")


def _given(node: Node) -> Given:
    function = triton_module("triton").JITFunction
    kernel: Any = kernel_side_table.get_kernel(cast("int", node.kwargs["kernel_idx"]))
    if isinstance(kernel, function):
        return Given(kernel, [Config({}, _WARPS, _STAGES)])
    for config in kernel.configs:
        further = [name for name, usual in _FURTHER if getattr(config, name, usual) != usual]
        if further:
            raise _left(f"a configuration of it has {', '.join(further)}")
    if not isinstance(kernel.fn, function):
        raise _left("a decorator stands between its text and `triton.autotune`")
    configs = [Config(config.kwargs, config.num_warps, config.num_stages) for config in kernel.configs]
    return Given(kernel.fn, configs)


def _constants_of(node: Node) -> dict[str, Any]:
    return kernel_side_table.get_constant_args(cast("int", node.kwargs["constant_args_idx"]))


class _Call:
    """The arguments of one launch, parameter by parameter."""

    def __init__(
        self,
        b: Builder,
        given: Given,
        constants: Mapping[str, Any],
        tensors: Mapping[str, Any],
        written: Sequence[str],
        value_of: Callable[[Any], Any],
    ) -> None:
        self.b, self.given, self.constants, self.tensors = b, given, constants, tensors
        self.written, self.value_of = written, value_of
        self.inputs: list[SSAValue] = []
        self.fakes: list[torch.Tensor] = []

    def emit(self, grids: Sequence[Sequence[Expr]]) -> dict[str, SSAValue]:
        """`grids` has one for each configuration."""
        b = self.b
        read = {
            name: self._operand(self.tensors[name]) for name in self._buffers() if name not in self.written
        }
        inits = [self._init(self.tensors[name]) for name in self.written]
        results = {name: len(self.inputs) + i for i, name in enumerate(self.written)}
        ways = [
            self._configuration(config, grid, {**read, **results})
            for config, grid in zip(self.given.configs, grids, strict=True)
        ]
        fakes = [self._fake(self.tensors[name]) for name in self.written]
        for name, fake in zip(self.written, fakes, strict=True):
            if overlaps_itself(b.symbols.exprs(fake.shape), b.symbols.exprs(fake.stride())):
                raise _left(f"elements of `{name}`, which it writes, share memory")
        function = self.given.function
        first, *others = dict.fromkeys(ways)
        name, text = StringAttr(function.fn.__name__), StringAttr(text_of(function))
        kernel = JitAttr(name, first.warps, first.stages, text)
        strides = [b.symbols.exprs(fake.stride()) for fake in self.fakes]
        types = [result_type(fake, b.symbols) for fake in fakes]
        op = TritonOp(kernel, first.grid, self.inputs, first.args, types, inits, strides, others)
        layouts = [b.symbols.exprs(fake.stride()) for fake in fakes]
        if layouts != [row_major_strides(b.symbols.exprs(fake.shape)) for fake in fakes]:
            op.attributes[STRIDES] = ArrayAttr([exprs_attr(layout) for layout in layouts])
        b.add(op)
        return dict(zip(self.written, op.results, strict=True))

    def _buffers(self) -> list[str]:
        return [name for name, arg in self.tensors.items() if isinstance(_seen(arg), torch.Tensor)]

    def _fake(self, arg: Any) -> torch.Tensor:
        fake = _seen(arg)
        assert isinstance(fake, torch.Tensor)
        self.b.element_of(fake)  # or Unsupported
        return fake

    def _operand(self, arg: Any) -> int:
        fake, value = self._fake(arg), self.value_of(arg)
        for i, (known, seen) in enumerate(zip(self.inputs, self.fakes, strict=True)):
            if known is value and seen.stride() == fake.stride():
                return i
        self.inputs.append(value)
        self.fakes.append(fake)
        return len(self.inputs) - 1

    def _init(self, arg: Any) -> int:
        target = arg.target if isinstance(arg, Node) else None
        return -1 if is_operator(target) and callee_of(target) in _EMPTY else self._operand(arg)

    def _configuration(self, config: Config, grid: Sequence[Expr], buffers: Mapping[str, int]) -> ConfigAttr:
        constants = {**config.constants, **self.constants}
        args = [self._argument(parameter, constants, buffers) for parameter in self.given.function.params]
        return ConfigAttr(IntAttr(config.warps), IntAttr(config.stages), exprs_attr(grid), ArrayAttr(args))

    def _argument(
        self, parameter: Any, constants: Mapping[str, Any], buffers: Mapping[str, int]
    ) -> Attribute:
        name = parameter.name
        if name in buffers:
            return ArgAttr(IntAttr(buffers[name]))
        if name in constants:
            value = constants[name]
        elif name in self.tensors:
            value = self.value_of(self.tensors[name])
        elif parameter.has_default:
            value = parameter.default
        else:
            raise _left(f"its parameter `{name}` is given nothing")
        if isinstance(value, Expr) and value.constant is not None:
            value = value.constant
        return StringAttr(literal(value)) if parameter.is_constexpr else _number(parameter, value)


def _number(parameter: Any, value: Any) -> Attribute:
    """What a launch gives for a parameter that is no `tl.constexpr`; Triton takes 1 for a constant."""
    annotated = getattr(parameter, "annotation_type", "")
    if annotated and annotated not in _INTEGERS:
        raise _left(f"its parameter `{parameter.name}` is of type {annotated}")
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int() if value == 1 and not (annotated or parameter.do_not_specialize):
            return StringAttr("1")
        case int():
            width = 32 if -(2**31) <= value < 2**31 else 64
            return IntegerAttr(value, _INTEGERS[annotated or f"i{width}"])
        case float() if not annotated:
            return FloatAttr(value, f32)
        case Expr() if annotated in ("", "i32"):
            return SizeAttr.of(value)
        case Expr() | float():
            raise _left(f"its parameter `{parameter.name}` of type {annotated} is given {value}")
        case _:
            return StringAttr(literal(value))


def _seen(arg: Any) -> Any:
    return arg.meta.get("val") if isinstance(arg, Node) else arg
