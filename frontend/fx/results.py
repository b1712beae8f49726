"""The edge of a graph: results of @main, and what is made of them outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch.fx import Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Region, SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Expr
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.view import SliceOp
from tilewright.passes.memory.result_memory import FREE, MEMORY

from ..aten.builder import Builder, FloatScalar
from ..errors import UnsupportedInput
from ..joint.joint_nodes import is_tensor
from ..torch_internals import COPY
from .aliases import Base, of_arguments, sharing, shown_of, storage_of, unused_room
from .boundary import UNIT, Arguments
from .devices import CPU
from .dtypes import CARRIERS, encode
from .graph import Alias, Literal, Output, Passed, Result, Size
from .locations import UNKNOWN, location_of
from .ragged import multiple_of
from .strides import Layout, dense_strides, layout_of


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
        visible: int,
        value_of: Callable[[Node], Any],
    ) -> None:
        self.b = b
        self._value_of = value_of
        self._free = free
        self.device = device
        self.arguments = arguments
        self._of_arguments = frozenset(_storages(arguments.index))
        bases = {**bases, **of_arguments(outputs, list(arguments.index), bases, visible)}
        bases = {**bases, **sharing(outputs, self._of_arguments, bases, b.symbols, visible)}
        self._given = outputs
        self._bases = {i: (base, _base(base, arguments, outputs)) for i, base in bases.items()}
        self._memory: dict[int, int] = {}
        self._room = unused_room(_made(outputs, self._of_arguments))
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
        if base.inside is not None and self._is_moved(of):
            return None
        fake = output.meta["val"]
        if not base.of_output and base.inside is None:
            fake = shown_of(output, of, None if base.update is None else self._given[base.update])
        if fake is None:
            return None
        starts, symbols = (fake.storage_offset(), of.storage_offset()), self.b.symbols
        known = all(
            symbols.knows(n) for n in (*fake.shape, *fake.stride(), *starts) if type(n) is torch.SymInt
        )
        shown = (fake.dtype, fake.is_conj(), fake.is_neg())
        if shown != (base.read_as or of.dtype, of.is_conj(), of.is_neg()) or not known:
            return None
        layout, (start, of_base) = layout_of(fake, symbols), symbols.exprs(starts)
        parts = (layout.sizes, layout.strides, start - of_base, base.read_as)
        if base.inside is None:
            return Alias(base.index, base.of_output, *parts)
        return Alias(self._result_of(base.inside), False, *parts, of_result=True)

    def _result_of(self, node: Node) -> int:
        """The number of the result that a tensor is which is no output."""
        if node not in self._seen:
            self._seen[node] = self._tensor(node, self._value_of(node))
        made = self._seen[node]
        assert isinstance(made, Result)
        return made.index

    def _output(self, output: Any, value: Any) -> Output:
        if isinstance(output, Node) and (passed := _passed(output)) is not None:
            return Passed(self.arguments.index[passed])
        if isinstance(value, Expr):
            return multiple_of(value, self.arguments.ragged) or Size(value)
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
        if not self._keeps(fake, layout):
            layout = layout.without_gaps
        if not layout.is_row_major:
            attrs[STRIDES] = StringAttr(layout.text)
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
        """The strides that the caller will see; some traced layouts with gaps lose these."""
        layout = layout_of(fake, self.b.symbols)
        repeated = layout.repeated
        layout = _without(layout, repeated)
        if not isinstance(made, Result) or self._keeps(fake, layout):
            return tuple(fake.stride())
        sizes = [1 if d in repeated else n for d, n in enumerate(fake.shape)]
        dense = dense_strides(sizes, layout.without_gaps.outermost_first)
        return tuple(0 if d in repeated else stride for d, stride in enumerate(dense))

    def _is_moved(self, fake: torch.Tensor) -> bool:
        return fake.device == CPU != self.device

    def _keeps(self, fake: torch.Tensor, layout: Layout) -> bool:
        """Whether a result gets the layout that was traced, as a view where that has gaps.

        Views that together are most of a tensor (query, key and value of one product) come for free.
        A view of little would keep alive what nobody needs, and is copied without gaps, as is what moves to
        the CPU: dimensions keep their order, so that images with their channels last stay so.
        """
        if layout.is_dense or self._is_moved(fake):
            return layout.is_dense
        return layout.is_apart and self._room.get(storage_of(fake), 1) <= 0


def _passed(output: Node) -> Node | None:
    """The placeholder that an output is, maybe after the graph wrote it at its end."""
    written = output.target is COPY and output.args[0]
    passed = written if isinstance(written, Node) else output
    return passed if passed.op == "placeholder" else None


def _base(base: Base, arguments: Arguments, outputs: Sequence[Any]) -> torch.Tensor | None:
    """The traced tensor that an output is a view of."""
    if base.inside is not None:
        return base.inside.meta["val"]
    node = outputs[base.index] if base.of_output else list(arguments.index)[base.index]
    return node.meta.get("val") if isinstance(node, Node) else None


def _made(outputs: Sequence[Any], of_arguments: Collection[int]) -> list[Node]:
    """The outputs that are tensors in memory of the graph's own."""
    tensors = [output for output in outputs if is_tensor(output)]
    return [node for node in tensors if storage_of(node.meta["val"]) not in of_arguments]


def _storages(nodes: Iterable[Node]) -> list[int]:
    return [storage_of(node.meta["val"]) for node in nodes if is_tensor(node)]


def _without(layout: Layout, repeated: Sequence[int]) -> Layout:
    """The layout with repeated dimensions shrunk to one element."""
    return replace(layout, sizes=tuple(ONE if d in repeated else n for d, n in enumerate(layout.sizes)))


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
