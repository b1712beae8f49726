"""Calls that no operator describes: higher-order operators, Python functions, arguments of any kind.

A `while_loop` that counts in Python (control_flow.py has the others) becomes `tw.aten` like any other
operator without an op: what it computes with is bound in Python and registered with
torch.library as `tilewright::while_loop_1f0c...(Tensor t0, SymInt n1, ...) -> (Tensor, ...)`.
So targets need no special case, and all that stands around the node is compiled.

The registration lives as long as the process, as does the name: no other process knows it, and
a graph that holds such a call is not kept.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_flatten, tree_unflatten
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr

from ..aten.aten import call_aten
from ..aten.builder import Builder, FloatScalar
from ..errors import Unsupported
from ..torch_internals import NONDETERMINISTIC, Operator, is_operator, real_tensors, schema_of, usual_dispatch
from .strides import operand_layout

_LIBRARY: list[Any] = []
_LOCK = Lock()
_TAKEN: dict[str, int] = {}
_PLAIN = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
_Filled = Callable[[Sequence[Any]], Any]


def name_of(target: Any) -> str:
    """`higher_order::cond`, or `module.function`."""
    if isinstance(target, torch._ops.HigherOrderOperator):  # pyright: ignore[reportPrivateUsage]
        return f"{target.namespace or 'higher_order'}::{target.name()}"
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', target)}"


def call_python(b: Builder, node: Node, values: Mapping[Node, Any]) -> Any:
    """Emit the call of `node`; the value is shaped like its result. Raises Unsupported."""
    if is_operator(node.target) and schema_of(node.target).is_mutable:
        raise Unsupported("it writes to an argument", "TW1104")
    if "val" not in node.meta and node.users:
        raise Unsupported("what it yields is not known", "TW1104")
    leaves, structure = tree_flatten(b.fake)
    wanted = [i for i, fake in enumerate(leaves) if isinstance(fake, torch.Tensor | torch.SymFloat)]
    for i in _used(node, len(leaves)):
        if isinstance(leaves[i], torch.SymInt | torch.SymBool) and not b.symbols.knows(leaves[i]):
            raise Unsupported("it computes a size from data", "TW1104")
    call = _Call(values, b)
    args, kwargs = call.bind(node.args), call.bind(node.kwargs)
    signature = f"({', '.join(call.signature)}) -> ({', '.join('Tensor' for _ in wanted)})"
    run = _runner(node.target, args, kwargs, (len(leaves), wanted), tuple(_held(call.bound)))
    name = name_of(node.target)
    text = " ".join([name, signature, *call.text, f"-> {wanted} of {len(leaves)}"])
    op = _register(name, signature, text, run, known=all(map(_is_known, (node.target, *call.bound))))
    outside, b.fake = b.fake, [_described(leaves[i]) for i in wanted]
    try:
        made = dict(zip(wanted, call_aten(b, op, call.operands, {}, lying=call.lying), strict=True))
    finally:
        b.fake = outside
    return tree_unflatten([_value(b, made.get(i), fake) for i, fake in enumerate(leaves)], structure)


def _used(node: Node, count: int) -> list[int]:
    """The results that somebody reads: those of a tuple are taken out one by one."""
    taken = [user.args[1] for user in node.users if user.target is operator.getitem]
    if len(taken) == len(node.users) and isinstance(node.meta.get("val"), tuple | list):
        return sorted({cast("int", i) % count for i in taken})
    return list(range(count))


def _described(fake: Any) -> torch.Tensor:
    """What stands for a result in the IR: a number is a tensor without dimensions."""
    if isinstance(fake, torch.Tensor):
        return fake
    with real_tensors():
        return torch.empty((), dtype=torch.float64)


def _value(b: Builder, made: SSAValue | None, fake: Any) -> Any:
    if made is not None:
        return made if isinstance(fake, torch.Tensor) else FloatScalar(made)
    return b.symbols.expr(fake) if isinstance(fake, torch.SymInt) and b.symbols.knows(fake) else fake


# Arguments


@dataclass
class _Call:
    """Sorts what a call takes: values of the graph become operands, all else is bound."""

    values: Mapping[Node, Any]
    b: Builder
    operands: list[Any] = field(default_factory=list[Any])
    lying: list[str] = field(default_factory=list[str])
    """How operands lie, which the function may look at."""
    signature: list[str] = field(default_factory=list[str])
    bound: list[Any] = field(default_factory=list[Any])
    text: list[str] = field(default_factory=list[str])
    """How all of it is nested."""

    def bind(self, arg: Any) -> _Filled:
        """How to make the argument of the operands of one call."""
        match arg:
            case Node():
                return self._node(arg)
            case tuple() | list():
                return self._sequence(arg, self.bind)  # pyright: ignore[reportUnknownArgumentType]
            case dict():
                named = cast("dict[str, Any]", arg)
                values = self._sequence(tuple(named.values()), self.bind, f"dict {list(named)}")
                return lambda given: dict(zip(named, values(given), strict=True))
            case slice():
                ends = self._sequence((arg.start, arg.stop, arg.step), self.bind, "slice")  # pyright: ignore
                return lambda given: slice(*ends(given))
            case torch.SymInt():
                return self._leaf(self.b.symbols.expr(arg))
            case _:
                return self._leaf(arg)

    def _node(self, node: Node) -> _Filled:
        if not isinstance(node.meta.get("val"), torch.SymBool):
            return self.bind_value(self.values[node], node.meta.get("val"))
        target = cast("Callable[..., Any]", node.target)  # a comparison of sizes: made again in each call
        self.bound.append(target)
        args = self._sequence(node.args, self.bind, name_of(target))
        return lambda given: target(*args(given))

    def bind_value(self, value: Any, fake: Any = None) -> _Filled:
        """The same for what a node has become: results of operators are nested at most."""
        if isinstance(value, tuple | list):
            return self._sequence(value, self.bind_value)  # pyright: ignore[reportUnknownArgumentType]
        return self._leaf(value, fake)

    def _sequence(self, arg: Sequence[Any], bind: Callable[[Any], _Filled], what: str = "") -> _Filled:
        """A plain tuple or list: FX has types of its own, which are no part of what was called."""
        is_tuple = isinstance(arg, tuple)
        self.text.append(f"{what or ('tuple' if is_tuple else 'list')}(")
        items = [bind(item) for item in arg]
        self.text.append(")")
        if is_tuple:
            return lambda given: tuple(item(given) for item in items)
        return lambda given: [item(given) for item in items]

    def _leaf(self, value: Any, fake: Any = None) -> _Filled:
        match value:
            case SSAValue():
                return self._operand(value, "Tensor", operand_layout(fake, self.b.symbols))
            case FloatScalar():
                self.text.append("number")
                number = self._operand(value, "Tensor")
                return lambda given: number(given).item()
            case Expr():
                return self._operand(value, "SymInt")
            case _:
                self.bound.append(value)
                self.text.append(_text(value))
                return lambda given: value

    def _operand(self, value: Any, kind: str, lying: str = "") -> _Filled:
        index = len(self.operands)
        self.operands.append(value)
        self.lying.append(lying)
        self.text.append(f"a{index}")
        self.signature.append(f"{kind} a{index}")
        return lambda given: given[index]


# The operator


def _runner(
    target: Any,
    args: _Filled,
    kwargs: _Filled,
    results: tuple[int, Sequence[int]],
    held: Sequence[torch.Tensor],
) -> Callable[..., Any]:
    count, wanted = results

    def run(*given: Any) -> Any:
        with torch.no_grad(), usual_dispatch():
            found = tree_flatten(target(*args(given), **kwargs(given)))[0]
            assert len(found) == count, f"{name_of(target)} returned {len(found)} values, traced were {count}"
            taken = [_memory(t) for t in (*given, *held) if isinstance(t, torch.Tensor)]
            made = tuple(_own(found[i], taken) for i in wanted)
        return made[0] if len(made) == 1 else made or None

    return run


def _own(value: Any, taken: list[int]) -> torch.Tensor:
    """A result in memory of its own: the plan may write over operands, and over results."""
    if not isinstance(value, torch.Tensor):
        return torch.tensor(value, dtype=torch.float64)
    value = value.detach()
    if _memory(value) in taken:
        value = value.clone()
    taken.append(_memory(value))
    return value


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0


def _held(bound: Sequence[Any]) -> Iterator[torch.Tensor]:
    """Tensors that hang on bound graphs, which a call may hand out."""
    for value in bound:
        if isinstance(value, torch.nn.Module):
            for module in value.modules():
                values = (*vars(module).values(), *module.parameters(False), *module.buffers(False))
                yield from (v for v in values if isinstance(v, torch.Tensor))


def _register(name: str, signature: str, text: str, run: Callable[..., Any], *, known: bool) -> Operator:
    """The operator of a call; with `known`, equal text means an equal call, which has one already.

    The name is made of the text, and does not depend on what was compiled before.
    """
    base = "".join(c if c.isalnum() else "_" for c in name.partition("::")[2] or name)
    stem = f"{base}_{sha256(f'{known} {text}'.encode()).hexdigest()[:12]}"
    with _LOCK:
        if not _LIBRARY:
            _LIBRARY.append(torch.library.Library("tilewright", "FRAGMENT"))
        count = _TAKEN.get(stem, 0)
        full = stem if not count or known else f"{stem}_{count + 1}"
        if full not in _TAKEN:
            # Anything may happen in there: it is never merged, moved or removed.
            _LIBRARY[0].define(full + signature, tags=(NONDETERMINISTIC,))
            _LIBRARY[0].impl(full, run, "CompositeExplicitAutograd")
            _TAKEN[full] = 1
            _TAKEN[stem] = count + 1
    return getattr(torch.ops.tilewright, full).default


def _text(value: Any) -> str:
    """What is bound, without addresses."""
    if isinstance(value, GraphModule):
        return "\n".join(f"{name}: {m.code}" for name, m in _graphs(value))
    if value is None or isinstance(value, _PLAIN):
        return repr(value)
    return name_of(value) if callable(value) else type(value).__name__


def _is_known(value: Any) -> bool:
    """Whether `_text` says all about it."""
    if isinstance(value, GraphModule):
        targets = [n.target for _, m in _graphs(value) for n in m.graph.nodes if n.op == "call_function"]
        graphs = {id(m) for _, m in _graphs(value)}
        only_graphs = all(id(m) in graphs or type(m) is torch.nn.Module for m in value.modules())
        return only_graphs and next(_held([value]), None) is None and all(map(_is_known, targets))
    if value is None or isinstance(value, _PLAIN):
        return True
    if is_operator(value) or isinstance(value, torch._ops.HigherOrderOperator):  # pyright: ignore
        return True
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return getattr(module, getattr(value, "__qualname__", ""), None) is value


def _graphs(module: GraphModule) -> list[tuple[str, GraphModule]]:
    modules = cast("Iterable[tuple[str, Any]]", module.named_modules(remove_duplicate=False))
    return [(name, m) for name, m in modules if isinstance(m, GraphModule)]
