"""The final plan as data: what runs, in which order, on which memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp as MainOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, parse_exprs
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.dialects.th.memory import ArenaOp, BufferOp, DataOp, ViewOp
from tilewright.dialects.th.types import element_of_handle
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of

from .stages import Place, place_in
from .work import Work

Symbols = Mapping[Var, int]
_PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm")


_Planned = LaunchOp | TritonLaunchOp | ExternOp | CallOp | ControlOp


@dataclass(frozen=True)
class Step:
    """One launch or library call."""

    number: int
    name: str
    kind: str
    """`kernel`, `library`, or `functions` for a condition or a loop that calls some."""
    places: tuple[Place, ...]
    """The user's lines in it; the first is its own."""
    after: tuple[int, ...]
    """Earlier steps whose results it reads."""
    flops: int | None
    bytes: int | None


@dataclass(frozen=True)
class Block:
    """A temporary in the arena: its bytes, and the steps from its first use to its last."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """Everything that one call runs."""

    steps: tuple[Step, ...] = ()
    blocks: tuple[Block, ...] = ()
    arena: int = 0
    requested: int = 0
    symbols: Symbols = field(default_factory=dict[Var, int])


def plan_of(module: ModuleOp, works: Mapping[str, Work], symbols: Symbols) -> Plan:
    """Reads `@main`; `symbols` are the sizes of the call that is reported."""
    main = next((op for op in module.ops if isinstance(op, MainOp) and op.body.blocks), None)
    if main is None:
        return Plan(symbols=symbols)
    kernels = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp | GroupOp)}
    reader = _Reader(works, kernels, symbols)
    arena = requested = 0
    for op in main.body.block.ops:
        if isinstance(op, _Planned):
            reader.step(op)
        elif isinstance(op, ArenaOp):
            arena, requested = reader.number(op.size.data), reader.number(_requested(op))
    return Plan(tuple(reader.steps), tuple(reader.blocks()), arena, requested, symbols)


def _requested(op: ArenaOp) -> str:
    text = op.attributes.get("th.requested")
    return text.data if isinstance(text, StringAttr) else op.size.data


def _root(value: SSAValue) -> SSAValue:
    """The memory behind views."""
    while isinstance(value.owner, ViewOp | DataOp):
        value = value.owner.source
    return value


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [n for n in numbers if n is not None]
    return sum(known) if len(known) == len(numbers) else None


@dataclass
class _Reader:
    works: Mapping[str, Work]
    kernels: Mapping[str, FuncOp | GroupOp]
    symbols: Symbols
    steps: list[Step] = field(default_factory=list[Step])
    writers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    used: dict[SSAValue, tuple[int, int]] = field(default_factory=dict[SSAValue, tuple[int, int]])

    def number(self, text: str) -> int:
        return parse_exprs(text)[0].evaluate(self.symbols)

    def step(self, op: _Planned) -> None:
        number, outs = len(self.steps), [_root(v) for v in op.outs]
        grouped = isinstance(op, LaunchOp) and isinstance(self.kernels.get(op.kernel.string_value()), GroupOp)
        reads = dict.fromkeys(_root(v) for v in (op.operands if grouped else op.ins))
        after = tuple(sorted({self.writers[v] for v in reads if v in self.writers}))
        flops = moved = None
        if isinstance(op, ControlOp):
            kind, name = "functions", op.kind.data
        elif isinstance(op, LaunchOp):
            kind, name = "kernel", op.kernel.string_value()
            flops, moved = self._kernel_work(op)
        elif isinstance(op, TritonLaunchOp):
            kind, name = "kernel", op.kernel.function.data
            moved = self._bytes(op)
        else:
            kind, name = "library", op.callee.data
            flops, moved = self._library_flops(op), self._bytes(op)
        self.steps.append(Step(number, name, kind, tuple(self._places(op)), after, flops, moved))
        for value in (*reads, *outs):
            self.used[value] = (self.used.get(value, (number, number))[0], number)
        self.writers.update(dict.fromkeys(outs, number))

    def _places(self, op: _Planned) -> Iterator[Place]:
        found = [place_in(op.location)]
        if isinstance(op, LaunchOp) and (kernel := self.kernels.get(op.kernel.string_value())) is not None:
            parts = kernel.parts if isinstance(kernel, GroupOp) else ()
            names = dict.fromkeys(part.kernel.string_value() for part in parts)
            bodies = [kernel.body, *(self.kernels[name].body for name in names)]
            found += [place_in(inner.location) for body in bodies for inner in body.walk()]
        yield from dict.fromkeys(place for place in found if place is not None)

    def _kernel_work(self, op: LaunchOp) -> tuple[int | None, int | None]:
        return self._work(op.kernel.string_value(), op.symbol_values, self.symbols)

    def _work(self, name: str, given: Sequence[Expr], symbols: Symbols) -> tuple[int | None, int | None]:
        """Of a function, or of all parts of a group."""
        work, kernel = self.works.get(name), self.kernels.get(name)
        if kernel is None or (work is None and isinstance(kernel, FuncOp)):
            return None, None
        values = [e.evaluate(symbols) for e in given]
        env = {var: n for e, n in zip(kernel.symbols.exprs, values, strict=True) for var in e.variables()}
        if isinstance(kernel, GroupOp):
            found = [self._work(part.kernel.string_value(), part.symbol_values, env) for part in kernel.parts]
            return _sum([flops for flops, _ in found]), _sum([moved for _, moved in found])
        assert work is not None
        return work.flops(env), work.bytes(env)

    def _bytes(self, op: ExternOp | CallOp | TritonLaunchOp) -> int | None:
        """Of all that it is given or makes, each once."""
        return _sum([self._bytes_of(v) for v in (*op.ins, *op.outs)])

    def _bytes_of(self, value: SSAValue) -> int | None:
        sizes = self._sizes(value)
        return None if sizes is None else prod(sizes) * bytes_of(element_of_handle(value.type))

    def _library_flops(self, op: ExternOp | CallOp) -> int | None:
        if op.callee.data.removesuffix(".out") not in _PRODUCTS:
            return None
        left, out = self._sizes(op.ins[-2]), self._sizes(op.outs[-1])
        return None if left is None or out is None else 2 * prod(out) * left[-1]

    def _sizes(self, value: SSAValue) -> Sequence[int] | None:
        owner: Operation | object = value.owner
        if isinstance(owner, ViewOp):
            return [e.evaluate(self.symbols) for e in parse_exprs(owner.sizes.data)]
        if isinstance(owner, CallOp | ControlOp):
            text = next(s.data for s, out in zip(owner.sizes, owner.outs, strict=True) if out is value)
            return [e.evaluate(self.symbols) for e in parse_exprs(text)]
        return None

    def blocks(self) -> Iterator[Block]:
        for value, (first, last) in self.used.items():
            op = value.owner
            if isinstance(value, BlockArgument) or not isinstance(op, BufferOp):
                continue
            size = self.number(op.size.data) * bytes_of(element_of_handle(value.type))
            name = self.steps[self.writers.get(value, first)].name
            yield Block(name, self.number(op.offset.data), size, first, last)
