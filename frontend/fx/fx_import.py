"""Walks an ATen FX graph and builds the tw module; knows no particular operator."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.diagnostics import CannotCompile
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.types import element_type, element_type_of, sizes_of_type

from ..aten import READS_CARRIERS, row_of
from ..aten.aten import result_type
from ..aten.builder import Builder, Row
from ..aten.carriers import on_carriers
from ..aten.numbers import NUMBERS
from ..errors import Unsupported, UnsupportedNode, UnsupportedSize
from ..torch_internals import WITH_EFFECTS, Operator, guarded_truth, is_operator
from .aliases import Base
from .asserting_nodes import IGNORED
from .boundary import Arguments, constant_of, import_arguments
from .control_flow import Body, Caller, form_of
from .devices import CPU, placement
from .dtypes import CARRIERS, element_of_dtype
from .graph import Fallback, Graph
from .higher_order import expand
from .kept_results import free_results
from .locations import location_of, place_of
from .outside_calls import NO_ROW, OutsideCalls
from .results import Results, make_module
from .symbols import Symbols
from .triton_kernels import call_triton, launches_triton
from .true_types import correct_types
from .updating_calls import updated_by

NO_VIEWS: Mapping[int, Base] = {}
NO_OPERATOR = "it works on graphs or Python functions, which torch runs"


def import_graph(gm: GraphModule, example_inputs: Sequence[Any] = (), **how: Any) -> ModuleOp:
    """The tw module of an ATen graph; see `import_fx` for the rest of what importing yields."""
    return import_fx(gm, example_inputs, **how).module


def import_fx(
    gm: GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    names: Sequence[str] = (),
    static: Sequence[int] = (),
    frozen: bool = False,
    fallback: bool = True,
    views: Mapping[int, Base] = NO_VIEWS,
    device: torch.device = CPU,
    seen: int | None = None,
    visible: int | None = None,
) -> Graph:
    """Import an ATen graph as AOTAutograd hands it to a compiler.

    `names` are the names of Dynamo's inputs, `static` the placeholders that are parameters
    and buffers; with `frozen` those that the graph leaves alone are marked `tw.frozen`.
    Without `fallback`, an operator that has no row is an error. `views` are outputs of which the caller
    wants the layout only. What the graph makes on the CPU is made on `device`. Of a forward graph `seen` says
    how many outputs the caller sees: passes choose the strides of the others. So many outputs are `visible`
    to programs, by default all: these share memory as they do in eager mode.
    """
    importer = _Importer(
        gm,
        example_inputs,
        fallback=fallback,
        views=views,
        device=device,
        seen=seen,
        visible=visible,
        symbols=Symbols(),
        noted=[],
    )
    return importer.run(names, static if frozen else ())


class _Importer:
    """One walk over one graph."""

    def __init__(
        self,
        gm: GraphModule,
        example_inputs: Sequence[Any],
        *,
        fallback: bool,
        views: Mapping[int, Base],
        device: torch.device,
        seen: int | None,
        visible: int | None,
        symbols: Symbols,
        noted: list[Fallback],
    ) -> None:
        self.gm = gm
        self.seen, self.visible = seen, visible
        self.device = device
        self.views = views
        self.example_inputs = example_inputs
        self.symbols = symbols
        self.b = Builder(symbols)
        self.values: dict[Node, Any] = {}
        self.writes: list[tuple[Node, SSAValue, SSAValue]] = []
        self.calls = OutsideCalls(self.b, self.values, noted, allowed=fallback)
        self.functions: dict[str, FuncOp] = {}

    def run(self, names: Sequence[str], static: Sequence[int]) -> Graph:
        nodes = list(self.gm.graph.nodes)
        arguments = import_arguments(self.gm, nodes, self.example_inputs, self.symbols, names, static)
        self.arguments: Arguments = arguments
        self.values.update(arguments.values)
        self.b.carried.update(arguments.carried)
        return self._finish(self.walk())

    def walk(self) -> Node:
        """Import every node; gives that of the results."""
        for node in self.gm.graph.nodes:
            if node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._constant(self.gm, node)
            elif node.op == "output":
                return node
        raise AssertionError("an FX graph ends with an output node")

    # Nodes

    def _call(self, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            source, index = node.args
            self.values[node] = self._value(source)[index]
            return
        b = self.b
        b.node, b.fake = node, node.meta.get("val")
        if isinstance(b.fake, int | float | torch.SymInt | torch.SymFloat | torch.SymBool):
            self.values[node] = self._number(node)
            return
        b.location = location_of(node)
        name = str(target)
        if target is WITH_EFFECTS:
            self.values[node] = self._with_effects(node)
            return
        if not is_operator(target):
            self.values[node] = self._call_higher_order(node)
            return
        if name == "aten.copy_.default" and self._write(node):
            return
        if name not in IGNORED:
            self.values[node] = self._operator(node, target, row_of(name))

    def _call_higher_order(self, node: Node) -> Any:
        """Its graph in place of the node where torch defines it by one, else a call in Python."""
        why, fake = Unsupported(NO_OPERATOR, "TW1105"), self.b.fake
        start = len(self.b.ops)
        try:
            if launches_triton(node.target):
                return call_triton(self.b, node, self._value)
            if (updating := updated_by(node)) is not None:
                return self.calls.updating(updating, node, self._value)
            expansion = expand(node, self.values)
        except Unsupported as reason:
            expansion, why = None, reason
            del self.b.ops[start:]
        if expansion is None:
            return self._call_functions(node, why)
        given = iter(expansion.arguments)
        for inner in expansion.graph.graph.nodes:
            if inner.op == "placeholder":
                self.values[inner] = self._value(next(given))
            elif inner.op == "get_attr":
                self._constant(expansion.graph, inner)
            elif inner.op == "call_function":
                self._call(inner)
            else:
                return self._checked(self._as_traced(self._value(inner.args[0]), fake), fake)
        raise AssertionError("an FX graph ends with an output node")

    def _call_functions(self, node: Node, why: Unsupported) -> Any:
        """An op that calls the node's graphs, which become functions; else a call in Python."""
        known, noted, start = len(self.functions), len(self.calls.noted), len(self.b.ops)
        try:
            if (form := form_of(node)) is not None:
                caller = Caller(self.b, self.arguments, self._plain, self._import_body, self.functions)
                return self._carry(caller.call(form), self.b.fake)
        except Unsupported as reason:
            why = Unsupported(reason.reason, "TW1105")
        except CannotCompile as error:
            why = Unsupported(f"cannot compile its graphs: {str(error).splitlines()[0]}", "TW1105")
        for name in list(self.functions)[known:]:
            del self.functions[name]
        del self.calls.noted[noted:], self.b.ops[start:]
        return self.calls.python(node, why)

    def _import_body(self, body: Body) -> tuple[Sequence[Operation], Sequence[Any]]:
        """The ops of a function, and what it returns."""
        correct_types(body.graph)
        if placement(body.graph).device not in (CPU, self.device):
            raise Unsupported("one of its graphs computes on another device")
        inner = _Importer(
            body.graph,
            (),
            fallback=self.calls.allowed,
            views={},
            device=self.device,
            seen=None,
            visible=0,
            symbols=self.symbols,
            noted=self.calls.noted,
        )
        inner.arguments, inner.functions = body.arguments, self.functions
        inner.values.update(body.values)
        inner.b.carried.update(body.carried)
        count = len(body.arguments.inputs)
        returned: Any = inner._plain(inner.walk().args[0])
        if inner.writes:
            raise Unsupported("one of its graphs writes to an operand")
        if len(body.arguments.inputs) > count:
            raise Unsupported("a large constant hangs on one of its graphs: pass it as an operand")
        self.calls.in_python = self.calls.in_python or inner.calls.in_python
        return inner.b.ops, cast("Sequence[Any]", returned if isinstance(returned, list) else [returned])

    def _as_traced(self, value: Any, fake: Any) -> Any:
        """Of the dtypes that the caller was traced with: torch's two accounts of an operator may differ."""
        if isinstance(value, tuple | list):
            return tuple(map(self._as_traced, value, fake))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not isinstance(value, SSAValue):
            return value
        made, element = cast("SSAValue", value), element_of_dtype(fake.dtype)
        return made if element is None else self.b.cast(made, element)

    def _with_effects(self, node: Node) -> Any:
        """An operator with an effect. Tokens have no value here: impure calls keep their order anyway."""
        op, *args = (self._value(arg) for arg in node.args[1:])
        kwargs = {key: self._value(arg) for key, arg in node.kwargs.items()}
        _, *fakes = self.b.fake
        self.b.fake = fakes[0] if len(fakes) == 1 else tuple(fakes)
        made = self.calls.effect(op, args, kwargs)
        return (None, *made) if isinstance(made, tuple | list) else (None, made)

    def _operator(self, node: Node, op: Operator, row: Row | None) -> Any:
        args = [self._value(arg) for arg in node.args]
        kwargs = {key: self._value(arg) for key, arg in node.kwargs.items()}
        start = len(self.b.ops)
        try:
            carried = self._is_carried(args)
            value = on_carriers(self.b, str(op), args, kwargs) if carried else None
            if value is None:
                if row is None:
                    raise Unsupported(NO_ROW, "TW1101")
                if carried and str(op) not in READS_CARRIERS:
                    raise self.b.no_element_type()
                value = row(self.b, *args, **kwargs)
        except Unsupported as reason:
            del self.b.ops[start:]
            return self.calls.aten(op, args, kwargs, reason)
        return self._carry(self._checked(value, self.b.fake), self.b.fake)

    def _carry(self, made: Any, fake: Any) -> Any:
        """Note what a value of another dtype than its own stands for."""
        if isinstance(fake, tuple | list):
            for part, seen in zip(made, fake, strict=True):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
                self._carry(part, seen)
        elif isinstance(fake, torch.Tensor) and fake.dtype in CARRIERS and made is not None:
            self.b.carried[made] = fake
        return made

    def _is_carried(self, args: Sequence[Any]) -> bool:
        """True where an operand or the result has a dtype that the IR lacks."""
        fake = self.b.fake
        if isinstance(fake, tuple | list) and fake:
            fake = cast("Sequence[Any]", fake)[0]
        if isinstance(fake, torch.Tensor) and element_of_dtype(fake.dtype) is None:
            return True
        carried = self.b.carried
        return bool(carried) and any(isinstance(arg, SSAValue) and arg in carried for arg in args)

    def _number(self, node: Node) -> Any:
        fake = self.b.fake
        if isinstance(fake, int | float):
            return fake
        if isinstance(fake, torch.SymBool):
            return fake  # decided where an operation takes it: assertions do not
        if isinstance(fake, torch.SymInt):
            if not self.symbols.knows(fake):
                reason = f"`{node.target}` computes it from data, or it is no integer polynomial"
                raise UnsupportedSize(where=place_of(location_of(node)), size=fake, reason=reason)
            return self.symbols.expr(fake)
        self.b.location = location_of(node)
        row = NUMBERS.get(node.target)  # pyright: ignore[reportArgumentType]
        if row is None:
            why = Unsupported("no rule for this function of symbolic numbers", "TW1105")
            return self.calls.python(node, why)
        return row(self.b, *(self._value(arg) for arg in node.args))

    def _write(self, node: Node) -> bool:
        """`copy_` into a placeholder is a write at the end of the graph."""
        target, source = node.args[0], node.args[1]
        if not isinstance(target, Node) or target.op != "placeholder":
            return False
        place = self.values[target]
        b = self.b
        b.fake = target.meta["val"]
        value = self._value(source)
        if value.type != place.type:
            value = b.operand(value, b.element, b.sizes)
        self.writes.append((node, value, place))
        self.values[node] = value
        return True

    def _constant(self, gm: GraphModule, node: Node) -> None:
        self.b.node, self.b.location = node, location_of(node)
        self.values[node] = constant_of(self.b, gm, node, self.arguments)

    # Values

    def _value(self, arg: Any) -> Any:
        if isinstance(arg, Node):
            value = self.values[arg]
            return self._decided(value) if isinstance(value, torch.SymBool) else value
        if isinstance(arg, list | tuple):
            return [self._value(item) for item in arg]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(arg, torch.SymInt):
            return self.symbols.expr(arg)
        return self.device if isinstance(arg, torch.device) and arg == CPU else arg

    def _plain(self, arg: Any) -> Any:
        """As `_value`; a comparison of sizes remains one."""
        if isinstance(arg, Node) and isinstance(self.values[arg], torch.SymBool):
            return self.values[arg]
        return self._value(arg)

    def _decided(self, value: torch.SymBool) -> bool:
        """A comparison of sizes as what it is now, which a guard keeps: the IR has no such scalars."""
        truth = guarded_truth(value)
        if truth is None:
            reason = f"`{value}` depends on data"
            raise UnsupportedNode(where=place_of(self.b.location), target=self.b.node.target, reason=reason)
        return truth

    def _checked(self, value: Any, fake: Any) -> Any:
        """The value of a row, which must have exactly the type that was traced."""
        if value is None:  # a gradient that nobody wants
            return None
        if isinstance(fake, tuple | list):
            return tuple(self._checked(part, want) for part, want in zip(value, fake, strict=True))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not isinstance(fake, torch.Tensor):
            return value
        expected = result_type(fake, self.symbols)
        assert isinstance(value, SSAValue), f"{self.b.node.target} yields {value}"
        made = cast("SSAValue", value)
        if made.type == expected:
            return made
        assert element_type_of(made) == element_type(expected), f"{self.b.node.target} yields {made.type}"
        return self.b.conform(made, sizes_of_type(expected))

    def _finish(self, node: Node) -> Graph:
        arguments = self.arguments
        for write, value, place in self.writes:
            self.b.location = location_of(write)
            self.b.add(WriteOp(value, place))
        outputs = cast("Sequence[Any]", node.args[0])
        free = free_results(arguments.index, outputs, self.seen)
        visible = len(outputs) if self.visible is None else self.visible
        results = Results(self.b, arguments, outputs, self.views, self.device, free, visible, self._value)
        for output in outputs:
            results.add(output, self._value(output))
        block: Block = arguments.block
        block.add_ops(self.b.ops)
        return Graph(
            module=make_module(arguments, results, self.functions.values()),
            inputs=tuple(arguments.inputs),
            outputs=tuple(results.outputs),
            symbols=tuple(arguments.symbols),
            fallbacks=tuple(self.calls.noted),
            in_python=self.calls.in_python,
            output_strides=tuple(results.strides),
            traced_sizes=self.symbols.traced,
        )
