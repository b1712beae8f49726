"""The edge of a graph: arguments and constants of @main."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, SSAValue

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.creation import ConstantOp
from tilewright.dialects.types import tensor_type

from ..aten.builder import Builder
from ..errors import UnsupportedInput
from ..torch_internals import is_opaque, is_operator, is_ragged, real_tensors, schema_of, size_expression
from .dtypes import CARRIERS, ELEMENTS, encode
from .graph import Argument, Constant, Input, Part, SizeOf
from .ragged import check_ragged
from .strides import argument_layout
from .symbols import Symbol, Symbols

INDEX = IndexType()
UNIT = UnitAttr()
LARGEST_CONSTANT = 64
"""Constants up to this many elements live in the IR, where passes can fold them."""


@dataclass
class Arguments:
    """The arguments of @main, in order, and what each node and symbol became."""

    block: Block
    inputs: list[Input] = field(default_factory=list[Input])
    attrs: list[dict[str, Attribute]] = field(default_factory=list[dict[str, Attribute]])
    values: dict[Node, Any] = field(default_factory=dict[Node, Any])
    index: dict[Node, int] = field(default_factory=dict[Node, int])
    carried: dict[SSAValue, torch.Tensor] = field(default_factory=dict[SSAValue, torch.Tensor])
    symbols: list[tuple[Var, int]] = field(default_factory=list[tuple[Var, int]])
    ragged: dict[Var, int] = field(default_factory=dict[Var, int])
    """Lengths of ragged dimensions, which @main never sees, by the argument of the call."""

    def add(self, type_: Attribute, source: Input, attrs: dict[str, Attribute]) -> SSAValue:
        value = self.block.insert_arg(type_, len(self.block.args))
        self.inputs.append(source)
        self.attrs.append(attrs)
        return value

    def add_symbol(self, symbol: Symbol, source: Input) -> SSAValue:
        self.symbols.append((symbol.var, len(self.inputs)))
        return self.add(INDEX, source, {"tw.symbol": StringAttr(str(symbol.var))})


def import_arguments(
    gm: GraphModule,
    nodes: Sequence[Node],
    example_inputs: Sequence[Any],
    symbols: Symbols,
    names: Sequence[str],
    static: Sequence[int],
) -> Arguments:
    """One argument per tensor or symbolic size, in the order of the placeholders."""
    placeholders = [node for node in nodes if node.op == "placeholder"]
    fakes = [_fake(node, example_inputs, i) for i, node in enumerate(placeholders)]
    defined = _define_symbols(fakes, symbols)
    arguments = Arguments(Block())
    frozen = _frozen(placeholders, nodes, static)
    for i, (node, fake) in enumerate(zip(placeholders, fakes, strict=True)):
        arguments.index[node] = i
        name = _name(node, names)
        if isinstance(fake, torch.Tensor):
            _add_sizes(arguments, fake, i, symbols)
            arguments.values[node] = _add_tensor(arguments, fake, i, symbols, name, i in frozen)
        elif isinstance(fake, torch.SymInt):
            for symbol in defined.get(i, ()):
                if is_ragged(fake):
                    arguments.ragged[symbol.var] = i
                else:
                    arguments.add_symbol(symbol, Part(i, symbol.sign) if symbol.sign else Argument(i))
            arguments.values[node] = symbols.expr(fake)
        elif fake is None or isinstance(fake, bool | int | float | str | torch.SymBool) or is_opaque(fake):
            arguments.values[node] = fake
        else:
            reason = "only tensors, integers and constants can enter a graph"
            kind, fix = f"a {type(fake).__name__}", "make what is needed of it outside, and pass that"
            raise UnsupportedInput(where=name, role="input", name=name, kind=kind, reason=reason, fix=fix)
    if arguments.ragged:
        check_ragged(nodes)
    return arguments


def _fake(node: Node, example_inputs: Sequence[Any], index: int) -> Any:
    """What a placeholder stands for; AOTAutograd's example knows the strides that we reported."""
    example = example_inputs[index] if index < len(example_inputs) else None
    if isinstance(example, FakeTensor) or "val" not in node.meta:
        node.meta["val"] = example
    return node.meta["val"]


def _define_symbols(fakes: Sequence[Any], symbols: Symbols) -> dict[int, Sequence[Symbol]]:
    """Symbols that are arguments themselves: plain ones first, then whole expressions, simple ones first."""
    sizes = [(i, fake) for i, fake in enumerate(fakes) if isinstance(fake, torch.SymInt)]
    found: dict[int, Sequence[Symbol]] = {}
    for i, fake in sorted(sizes, key=lambda size: int(size_expression(size[1]).count_ops())):
        if made := symbols.define(fake):
            found[i] = made
    return found


def _add_sizes(arguments: Arguments, fake: torch.Tensor, index: int, symbols: Symbols) -> None:
    """Symbols that only a tensor's size shows become arguments of their own."""
    for dim, size in enumerate(fake.shape):
        if isinstance(size, torch.SymInt) and not symbols.knows(size):
            (symbol,) = symbols.define(size)
            arguments.add_symbol(symbol, SizeOf(index, dim))


def _add_tensor(
    arguments: Arguments, fake: torch.Tensor, index: int, symbols: Symbols, name: str, frozen: bool
) -> SSAValue:
    _check_memory(fake, "input" if index >= 0 else "constant", name)
    dtype = fake.dtype if fake.dtype in CARRIERS else None
    carrier = encode(fake)
    attrs: dict[str, Attribute] = {"tw.name": StringAttr(name)}
    if frozen:
        attrs["tw.frozen"] = UNIT
    if (strides := argument_layout(carrier, symbols)) is not None:
        attrs[STRIDES] = StringAttr(strides)
    type_ = tensor_type(ELEMENTS[carrier.dtype], symbols.exprs(carrier.shape))
    value = arguments.add(type_, Argument(index, dtype), attrs)
    if dtype is not None:
        arguments.carried[value] = fake
    return value


def _check_memory(fake: torch.Tensor, role: str, name: str) -> None:
    """The IR knows plain arrays of the dtypes in the table."""
    kind = reason = ""
    if fake.layout is not torch.strided or fake.is_quantized:
        kind, reason = f"a {fake.layout} tensor of {fake.dtype}", "its memory is no plain array"
    elif encode(fake).dtype not in ELEMENTS:
        kind, reason = f"of {fake.dtype}", "the IR has no such element type"
    elif fake.is_neg():
        kind, reason = "a view that negates", "its memory holds each number with the other sign"
    if kind:
        fix = "dequantize, densify, convert or clone it, or use it outside the compiled function"
        raise UnsupportedInput(where=name, role=role, name=name, kind=kind, reason=reason, fix=fix)


def _frozen(placeholders: Sequence[Node], nodes: Sequence[Node], static: Sequence[int]) -> frozenset[int]:
    """Static placeholders that the graph does not write."""
    if not static:
        return frozenset()
    written: set[Node] = set()
    for node in nodes:
        if is_operator(node.target) and schema_of(node.target).is_mutable:
            written.update(node.all_input_nodes)
    return frozenset(i for i in static if i < len(placeholders) and placeholders[i] not in written)


def _name(node: Node, names: Sequence[str]) -> str:
    """The name of a Dynamo input (`encoder.norm.weight`), else that of the placeholder."""
    described: Any = node.meta.get("desc")
    if type(described).__name__ == "PlainAOTInput" and described.idx < len(names):
        return str(names[described.idx])
    return node.name


# Constants


def constant_of(b: Builder, gm: GraphModule, node: Node, arguments: Arguments) -> Any:
    """What hangs on the graph module: a tensor is in the IR if small, else a frozen argument.

    Anything else is a graph that a node takes: see control_flow.py.
    """
    value: Any = gm
    for part in str(node.target).split("."):
        value = getattr(value, part)
    name = str(node.target)
    if not isinstance(value, torch.Tensor):
        return value
    node.meta.setdefault("val", value)
    if value.numel() <= LARGEST_CONSTANT and value.dtype in ELEMENTS:
        with real_tensors():
            return b.emit(ConstantOp(_dense(value)))
    with real_tensors():
        frozen = _add_tensor(arguments, value, -1, b.symbols, name, True)
        arguments.inputs[-1] = Constant(encode(value))
    b.carried.update(arguments.carried)
    return frozen


def _dense(value: torch.Tensor) -> DenseIntOrFPElementsAttr:
    element = ELEMENTS[value.dtype]
    type_: Any = tensor_type(element, value.shape)
    numbers = cast("list[Any]", value.detach().reshape(-1).tolist())  # pyright: ignore[reportUnknownMemberType]
    if value.dtype is torch.bool:
        numbers = [int(n) for n in numbers]
    return DenseIntOrFPElementsAttr.from_list(type_, numbers)
