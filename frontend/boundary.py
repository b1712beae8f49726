"""The edge of a graph: arguments, constants and results of @main."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Var
from tilewright.dialects.tw.creation import ConstantOp
from tilewright.dialects.tw.view import SliceOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.result_memory import FREE, MEMORY

from .aliases import Base, other_readings, storage_of
from .aten.builder import Builder, FloatScalar
from .devices import CPU
from .dtypes import CARRIERS, ELEMENTS, encode
from .errors import UnsupportedInput
from .graph import Alias, Argument, Constant, Input, Literal, Output, Passed, Result, Size, SizeOf
from .locations import UNKNOWN, location_of
from .strides import Layout, argument_layout, layout_of, row_major
from .symbols import Symbols
from .torch_internals import is_operator, real_tensors, schema_of, size_expression

INDEX = IndexType()
UNIT = UnitAttr()
LARGEST_CONSTANT = 64
"""Constants up to this many elements live in the IR, where passes can fold them."""
_COPY = torch.ops.aten.copy_.default


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

    def add(self, type_: Attribute, source: Input, attrs: dict[str, Attribute]) -> SSAValue:
        value = self.block.insert_arg(type_, len(self.block.args))
        self.inputs.append(source)
        self.attrs.append(attrs)
        return value

    def add_symbol(self, symbol: Expr, source: Input) -> SSAValue:
        (var,) = symbol.variables()
        self.symbols.append((var, len(self.inputs)))
        return self.add(INDEX, source, {"tw.symbol": StringAttr(str(symbol))})


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
            if i in defined:
                arguments.add_symbol(defined[i], Argument(i))
            arguments.values[node] = symbols.expr(fake)
        elif fake is None or isinstance(fake, bool | int | float | str | torch.SymBool):
            arguments.values[node] = fake
        else:
            reason = "only tensors, integers and constants can enter a graph"
            kind, fix = f"a {type(fake).__name__}", "make what is needed of it outside, and pass that"
            raise UnsupportedInput(where=name, role="input", name=name, kind=kind, reason=reason, fix=fix)
    return arguments


def _fake(node: Node, example_inputs: Sequence[Any], index: int) -> Any:
    """What a placeholder stands for; AOTAutograd's example knows the strides that we reported."""
    example = example_inputs[index] if index < len(example_inputs) else None
    if isinstance(example, FakeTensor) or "val" not in node.meta:
        node.meta["val"] = example
    return node.meta["val"]


def _define_symbols(fakes: Sequence[Any], symbols: Symbols) -> dict[int, Expr]:
    """Symbols that are arguments themselves: plain ones first, then whole expressions."""
    sizes = [(i, fake) for i, fake in enumerate(fakes) if isinstance(fake, torch.SymInt)]
    found: dict[int, Expr] = {}
    for plain in (True, False):
        for i, fake in sizes:
            if (
                bool(size_expression(fake).is_Symbol) is plain
                and (symbol := symbols.define(fake)) is not None
            ):
                found[i] = symbol
    return found


def _add_sizes(arguments: Arguments, fake: torch.Tensor, index: int, symbols: Symbols) -> None:
    """Symbols that only a tensor's size shows become arguments of their own."""
    for dim, size in enumerate(fake.shape):
        if isinstance(size, torch.SymInt) and not symbols.knows(size):
            symbol = symbols.define(size)
            assert symbol is not None
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
        attrs["tw.strides"] = StringAttr(strides)
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


# Results


class Results:
    """The results of @main, and how the caller's outputs are made of them."""

    def __init__(
        self,
        b: Builder,
        arguments: Arguments,
        outputs: Sequence[Any],
        bases: Mapping[int, Base],
        device: torch.device,
        free: Collection[int],
    ) -> None:
        self.b = b
        self._free = free
        self.device = device
        self.arguments = arguments
        self._of_arguments = frozenset(_storages(arguments.index))
        bases = {**bases, **other_readings(outputs, self._of_arguments, bases, b.symbols)}
        self._bases = {i: (base, _base(base, arguments, outputs)) for i, base in bases.items()}
        self._memory: dict[int, int] = {}
        self._room = _unused_room(_nodes(outputs), arguments.index)
        self.values: list[SSAValue] = []
        self.attrs: list[dict[str, Attribute]] = []
        self.outputs: list[Output] = []
        self.strides: list[tuple[int | torch.SymInt, ...] | None] = []
        self._seen: dict[Node, Output] = {}

    def add(self, output: Any, value: Any) -> None:
        if (alias := self._alias(output)) is not None:
            self.outputs.append(alias)
            self.strides.append(tuple(output.meta["val"].stride()))
            return
        made = self._seen.get(output) if isinstance(output, Node) else None
        if made is None:
            made = self._output(output, value)
        if isinstance(output, Node):
            self._seen[output] = made
        self.outputs.append(made)
        fake = output.meta.get("val") if isinstance(output, Node) else None
        self.strides.append(self._reported(fake, made) if isinstance(fake, torch.Tensor) else None)

    def _alias(self, output: Any) -> Alias | None:
        """The next output as a view that the caller makes anew, where that is known to be one."""
        base, of = self._bases.get(len(self.outputs), (None, None))
        if base is None or of is None or not isinstance(output, Node) or _passed(output) is not None:
            return None
        fake: torch.Tensor = output.meta["val"]
        offset, symbols = fake.storage_offset(), self.b.symbols
        known = all(
            symbols.knows(n) for n in (*fake.shape, *fake.stride(), offset) if type(n) is torch.SymInt
        )
        if fake.dtype != (base.read_as or of.dtype) or not known:
            return None
        layout, (start,) = layout_of(fake, symbols), symbols.exprs((offset,))
        return Alias(base.index, base.of_output, layout.sizes, layout.strides, start, base.read_as)

    def _output(self, output: Any, value: Any) -> Output:
        if isinstance(output, Node) and (passed := _passed(output)) is not None:
            return Passed(self.arguments.index[passed])
        if isinstance(value, Expr):
            return Size(value)
        if isinstance(value, FloatScalar):
            raise UnsupportedInput(
                where=str(output),
                role="result",
                name=str(output),
                kind="a symbolic float",
                reason="the IR has numbers in tensors, and sizes",
                fix="return the sizes that it is made of, or a tensor (torch.full)",
            )
        if not isinstance(value, SSAValue):
            return Literal(value)
        return self._tensor(output, cast("SSAValue", value))

    def _tensor(self, node: Node, value: SSAValue) -> Output:
        fake: torch.Tensor = node.meta["val"]
        carrier = encode(fake)
        layout = layout_of(carrier, self.b.symbols)
        attrs: dict[str, Attribute] = {}
        expand: tuple[Expr, ...] | None = None
        if layout.repeated:
            expand, layout = layout.sizes, _without(layout, layout.repeated)
            self.b.location = location_of(node)
            starts = [ZERO] * len(layout.sizes)
            value = self.b.emit(SliceOp(value, starts, layout.sizes))
        if not layout.is_row_major and self._keeps(fake, layout):
            attrs["tw.strides"] = StringAttr(layout.text)
        if (memory := storage_of(fake)) not in self._of_arguments:
            number = self._memory.setdefault(memory, len(self._memory))
            attrs[MEMORY] = IntegerAttr(number, i64)
        dtype = fake.dtype if fake.dtype in CARRIERS else None
        self.values.append(value)
        self.attrs.append(attrs)
        moved = fake.device if self._is_moved(fake) else None
        if len(self.outputs) in self._free and expand is None and dtype is None and moved is None:
            attrs[FREE] = UNIT
        return Result(len(self.values) - 1, dtype, expand, moved)

    def _reported(self, fake: torch.Tensor, made: Output) -> tuple[int | torch.SymInt, ...]:
        """The strides that the caller will see; some traced layouts with gaps become row-major."""
        layout = layout_of(fake, self.b.symbols)
        if isinstance(made, Result) and not layout.repeated and not self._keeps(fake, layout):
            return row_major(fake.shape)
        return tuple(fake.stride())

    def _is_moved(self, fake: torch.Tensor) -> bool:
        return fake.device == CPU != self.device

    def _keeps(self, fake: torch.Tensor, layout: Layout) -> bool:
        """Whether a result gets the layout that was traced, as a view where that has gaps.

        Views that together are most of a tensor (query, key and value of one product) come for free.
        A view of little would keep alive what nobody needs, and is copied, as is what moves to the CPU.
        """
        if layout.is_dense or self._is_moved(fake):
            return layout.is_dense
        return layout.is_apart and self._room.get(storage_of(fake), 1) <= 0


def _passed(output: Node) -> Node | None:
    """The placeholder that an output is, maybe after the graph wrote it at its end."""
    written = output.target is _COPY and output.args[0]
    passed = written if isinstance(written, Node) else output
    return passed if passed.op == "placeholder" else None


def _base(base: Base, arguments: Arguments, outputs: Sequence[Any]) -> torch.Tensor | None:
    """The traced tensor that an output is a view of."""
    node = outputs[base.index] if base.of_output else list(arguments.index)[base.index]
    return node.meta.get("val") if isinstance(node, Node) else None


def _nodes(outputs: Sequence[Any]) -> list[Node]:
    return [output for output in outputs if isinstance(output, Node)]


def _storages(nodes: Iterable[Node]) -> list[int]:
    fakes = [node.meta.get("val") for node in nodes]
    return [storage_of(fake) for fake in fakes if isinstance(fake, torch.Tensor)]


def _unused_room(outputs: Iterable[Node], arguments: Iterable[Node]) -> dict[int, int]:
    """Bytes of the traced memory of results that none of them uses, less those that they use.

    Not for memory of arguments, nor of unknown size.
    """
    known = set(_storages(arguments))
    room: dict[int, int] = {}
    for node in dict.fromkeys(outputs):
        fake = node.meta.get("val")
        if not isinstance(fake, torch.Tensor) or (key := storage_of(fake)) in known:
            continue
        shape = (*zip(fake.shape, fake.stride(), strict=True), (fake.untyped_storage().nbytes(), 1))
        if all(type(n) is int for pair in shape for n in pair):
            *elements, (size, _) = shape
            once = prod(n for n, stride in elements if stride != 0)
            room[key] = room.get(key, size) - 2 * once * fake.element_size()
    return room


def _without(layout: Layout, repeated: Sequence[int]) -> Layout:
    """The layout with repeated dimensions shrunk to one element."""
    sizes = tuple(ONE if d in repeated else n for d, n in enumerate(layout.sizes))
    return Layout(sizes, layout.strides)


def make_module(arguments: Arguments, results: Results, functions: Iterable[FuncOp]) -> ModuleOp:
    """`func.func @main` around the imported ops, then the functions that these call."""
    block = arguments.block
    back = ReturnOp(*results.values)
    back.location = results.b.location if results.b.ops else UNKNOWN
    block.add_op(back)
    main = FuncOp(
        "main",
        ([arg.type for arg in block.args], [value.type for value in results.values]),
        Region(block),
        arg_attrs=_attributes(arguments.attrs),
        res_attrs=_attributes(results.attrs) if any(results.attrs) else None,
    )
    return ModuleOp([main, *functions])


def _attributes(attrs: Sequence[Mapping[str, Attribute]]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr(dict(a)) for a in attrs])
