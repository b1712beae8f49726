"""`cond`, `while_loop`, `scan` and `map`: their graphs become functions of the module, which an op calls.

    torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, (x, w, s77))
      ->  %r = tw.cond @true_graph_0 else @false_graph_0(%p, %x, %w) symbols "s0" : ...

The functions go through the same passes and are compiled for the same target as the graph around the node.
Tensors are arguments of theirs, and so are all symbolic sizes of that graph. What cannot be said so (a state
of Python numbers, results whose sizes depend on data) is declined with a reason, and torch runs the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.index_expr import Expr, sym
from tilewright.dialects.tw.base import is_pure
from tilewright.dialects.tw.control_flow import CondOp, ScanOp, WhileOp, row_type
from tilewright.dialects.tw.elementwise_binary import CompareOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import sizes_of, tensor_type

from ..aten.aten import result_type
from ..aten.builder import Builder
from ..errors import Unsupported
from ..torch_internals import higher_order_name
from .boundary import Arguments
from .graph import Argument
from .symbols import Symbol

_CONDITION = tensor_type(i1, ())


@dataclass(frozen=True)
class Function:
    """One graph of a node, and how it is called: placeholders stand for the values of `operands`."""

    graph: Node
    operands: tuple[Any, ...]
    row_of: range = range(0)
    """The operands of which it takes one row."""
    returns: tuple[Any, ...] = ()
    """What was traced of its results, None where the caller has none; those of `rows` are rows of that."""
    rows: range = range(0)
    condition: bool = False
    """It returns one truth."""


@dataclass(frozen=True)
class Form:
    """One node: what it calls, in the order of the op's functions."""

    make: Callable[..., Operation]
    functions: tuple[Function, ...]
    operands: tuple[Any, ...]
    state: range = range(0)
    """The operands that change from call to call, and that must be tensors."""
    condition: Node | None = None


def form_of(node: Node) -> Form | None:
    """What a node of a higher-order operator calls; None where the table does not name it."""
    form = _FORMS.get(higher_order_name(node.target))
    return None if form is None else form(*node.args, node.meta["val"])


def _cond(condition: Any, then: Node, otherwise: Node, operands: Sequence[Any], fake: Sequence[Any]) -> Form:
    if not isinstance(condition, Node):
        raise Unsupported("its condition is a constant")
    given, returns = tuple(operands), tuple(fake)
    functions = tuple(Function(graph, given, returns=returns) for graph in (then, otherwise))
    return Form(CondOp, functions, given, condition=condition)


def _while(more: Node, body: Node, state: Sequence[Any], rest: Sequence[Any], fake: Sequence[Any]) -> Form:
    given = (*state, *rest)
    functions = (Function(more, given, condition=True), Function(body, given, returns=tuple(fake)))
    return Form(WhileOp, functions, given, range(len(state)))


def _scan(
    body: Node, state: Sequence[Any], rows: Sequence[Any], rest: Sequence[Any], fake: Sequence[Any]
) -> Form:
    first, last = len(state), len(state) + len(rows)
    given = (*state, *rows, *rest)
    function = Function(body, given, range(first, last), tuple(fake), range(first, len(fake)))
    return Form(partial(ScanOp, carried=first, scanned=len(rows)), (function,), given, range(last))


def _map(body: Node, rows: Sequence[Any], rest: Sequence[Any], fake: Sequence[Any]) -> Form:
    return _scan(body, (), rows, rest, fake)


_FORMS: Mapping[str, Callable[..., Form]] = {
    "cond": _cond,
    "while_loop": _while,
    "scan": _scan,
    "map_impl": _map,
}


@dataclass
class Body:
    """One function while its graph is imported."""

    name: str
    graph: GraphModule
    arguments: Arguments
    """Of its tensors, then one per symbol of the graph around it."""
    values: dict[Node, Any]
    """What its placeholders are, sizes of the graph around it among them."""
    carried: dict[SSAValue, torch.Tensor]


@dataclass(frozen=True)
class Caller:
    """Builds the op of one node, in the graph around it."""

    b: Builder
    around: Arguments
    """Of that graph: its symbols are arguments of every function."""
    value_of: Callable[[Any], Any]
    run: Callable[[Body], tuple[Sequence[Operation], Sequence[Any]]]
    """Imports a graph into a body; gives the ops, and what it returns."""
    functions: dict[str, FuncOp]
    """Those of the module, to which the graphs are added."""

    @property
    def symbols(self) -> list[Expr]:
        return [sym(var.index) for var, _ in self.around.symbols]

    def call(self, form: Form) -> Sequence[Any]:
        """The value of the node: a tensor, or None, per traced result. Raises Unsupported."""
        fakes: Sequence[Any] = self.b.fake
        values = [self._operand(value, i in form.state) for i, value in enumerate(form.operands)]
        results = [result_type(fake, self.b.symbols) for fake in fakes if fake is not None]
        made = [self._function(function, values) for function in form.functions]
        inputs: list[SSAValue] = [value for value in values if isinstance(value, SSAValue)]
        if form.condition is not None:
            inputs.insert(0, self._condition(form.condition))
        impure = any(not is_pure(op) for f in made for op in f.body.block.ops if not isinstance(op, ReturnOp))
        names = [function.sym_name.data for function in made]
        op = form.make(names, inputs, results, self.symbols, impure=impure)
        self.b.add(op)
        returned = iter(op.results)
        return tuple(None if fake is None else next(returned) for fake in fakes)

    def _operand(self, arg: Any, is_state: bool) -> Any:
        value: Any = self.value_of(arg)
        if is_state and not isinstance(value, SSAValue):
            raise Unsupported("its state is a number of Python: carry a tensor without dimensions")
        if value is None or isinstance(value, SSAValue | Expr | int):
            return value  # pyright: ignore[reportUnknownVariableType]
        raise Unsupported(f"it takes {arg}, which is neither a tensor nor a size")

    def _condition(self, node: Node) -> SSAValue:
        """A truth as the host reads it; a comparison of sizes is computed for it."""
        if isinstance(node.meta["val"], torch.SymBool):
            compared = self.b.symbols.comparison(node.meta["val"])
            if compared is None:
                raise Unsupported("its condition is more than a comparison of sizes")
            lhs, predicate, rhs = compared
            sides = (self.b.operand(lhs, i64, ()), self.b.operand(rhs, i64, ()))
            return self.b.emit(CompareOp(*sides, predicate))
        value: SSAValue = self.value_of(node)
        return value if not sizes_of(value) else self.b.emit(ReshapeOp(value, ()))

    def _function(self, function: Function, values: Sequence[Any]) -> FuncOp:
        graph: Any = self.value_of(function.graph)
        body = self._begin(function, graph, values)
        ops, outputs = self.run(body)
        returned = self._returned(function, outputs)
        block = body.arguments.block
        back = ReturnOp(*returned)
        back.location = self.b.location
        block.add_ops([*ops, back])
        made = FuncOp(
            body.name,
            ([arg.type for arg in block.args], [value.type for value in returned]),
            Region(block),
            arg_attrs=ArrayAttr([DictionaryAttr(attrs) for attrs in body.arguments.attrs]),
        )
        made.location = self.b.location
        self.functions[body.name] = made
        return made

    def _begin(self, function: Function, graph: GraphModule, values: Sequence[Any]) -> Body:
        name = self._name(str(function.graph.target))
        body = Body(name, graph, Arguments(Block()), {}, {})
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        if len(placeholders) != len(values):
            raise Unsupported(
                f"its graph takes {len(placeholders)} values, given are {len(values)}", "TW1105"
            )
        for i, (node, value) in enumerate(zip(placeholders, values, strict=True)):
            if not isinstance(value, SSAValue):
                body.values[node] = value
                continue
            operand = cast("SSAValue", value)
            type_ = row_type(operand.type) if i in function.row_of else operand.type
            fake = node.meta["val"]
            if not isinstance(fake, torch.Tensor) or result_type(fake, self.b.symbols) != type_:
                raise Unsupported("its graph was traced with other sizes than it is called with")
            attrs: dict[str, Attribute] = {"tw.name": StringAttr(node.name)}
            argument = body.arguments.add(type_, Argument(i), attrs)
            body.values[node] = argument
            if operand in self.b.carried:
                body.carried[argument] = fake
        for symbol in self.symbols:
            body.arguments.add_symbol(Symbol(symbol, 0), Argument(len(body.arguments.inputs)))
        return body

    def _name(self, stem: str) -> str:
        count = sum(name.partition(".")[0] == stem for name in self.functions)
        return f"{stem}.{count}" if count else stem

    def _returned(self, function: Function, outputs: Sequence[Any]) -> list[SSAValue]:
        """The results, which must be what the caller was traced with."""
        if function.condition:
            wanted: list[Any] = [_CONDITION]
        else:
            types = [None if f is None else result_type(f, self.b.symbols) for f in function.returns]
            wanted = [row_type(t) if t is not None and i in function.rows else t for i, t in enumerate(types)]
        returned: list[SSAValue | None] = [v if isinstance(v, SSAValue) else None for v in outputs]
        if [None if value is None else value.type for value in returned] != wanted:
            raise Unsupported("one of its graphs returns other types than were traced")
        return [value for value in returned if value is not None]
