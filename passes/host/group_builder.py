"""Writes a `tk.group`, and its launch in the place of those of its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Expr, as_expr, format_exprs, sym
from tilewright.dialects.ir_access import ops_within
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.group import GroupOp, PartOp
from tilewright.dialects.tk.inplace import attach, attached
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import carry_location
from .kernel_key import Key
from .launch_order import MADE_ANYWHERE
from .sized_functions import SizedFunctions

Parts = tuple[tuple[str, tuple[int, ...], tuple[Expr, ...]], ...]
"""Of each part: the kernel, the numbers of its buffers, the values of its symbols."""


@dataclass
class _Plan:
    """A group, and what its launch is given."""

    ins: list[SSAValue]
    outs: list[SSAValue]
    parts: Parts
    values: list[Expr]
    """Of the symbols of the group."""
    pairs: list[tuple[int, int]]


@dataclass
class GroupBuilder:
    """Makes groups; equal ones are one."""

    module: ModuleOp
    functions: dict[str, FuncOp]
    sized: SizedFunctions
    _groups: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])

    def build(self, launches: Sequence[LaunchOp], place: LaunchOp) -> None:
        """Replace `launches`, none of which depends on another, by one in the place of one of them."""
        plan = self._plan(launches)
        first = launches[0]
        properties: dict[str, Attribute] = {
            "kernel": SymbolRefAttr(self._group(plan, first)),
            "operandSegmentSizes": segments(len(plan.ins), len(plan.outs)),
        }
        if plan.values:
            properties["symbols"] = StringAttr(format_exprs(plan.values))
        _bring_forward([*plan.ins, *plan.outs], place)
        new = LaunchOp.create(operands=[*plan.ins, *plan.outs], properties=properties)
        carry_location(first, [new])
        Rewriter.insert_op(new, InsertPoint.before(place))
        for launch in launches:
            Rewriter.erase_op(launch)

    def __post_init__(self) -> None:
        self._launched = _called(self.module)

    def drop_unused(self) -> None:
        """Erase the functions that nothing launches any more."""
        called = _called(self.module)
        for name, function in self.functions.items():
            if name in self._launched and name not in called:
                Rewriter.erase_op(function)

    def _plan(self, launches: Sequence[LaunchOp]) -> _Plan:
        outs = list(dict.fromkeys(value for launch in launches for value in launch.outs))
        written = set(outs)
        ins = [v for v in dict.fromkeys(v for op in launches for v in op.ins) if v not in written]
        number = {value: i for i, value in enumerate((*ins, *outs))}
        values = [e for op in launches for e in op.symbol_values if e.constant is None]
        names = {e: sym(i) for i, e in enumerate(dict.fromkeys(values))}
        parts: list[tuple[str, tuple[int, ...], tuple[Expr, ...]]] = []
        for launch, (name, units) in zip(launches, self._functions_of(launches), strict=True):
            symbols = [names.get(e, e) for e in launch.symbol_values] if units is None else [as_expr(units)]
            parts.append((name, tuple(number[v] for v in launch.operands), tuple(symbols)))
        return _Plan(ins, outs, tuple(parts), list(names), self._in_place(launches, ins, outs))

    def _functions_of(self, launches: Sequence[LaunchOp]) -> list[tuple[str, int | None]]:
        """The function of each part, and the size that it is given if it is one of any size."""
        functions = [self.functions[launch.kernel.string_value()] for launch in launches]
        sizes: dict[Key, set[FuncOp]] = {}
        for function in functions:
            if (sized := self.sized.of(function)) is not None:
                sizes.setdefault(sized.key, set()).add(function)
        found: list[tuple[str, int | None]] = []
        for function in functions:
            sized = self.sized.of(function)
            if sized is None or len(sizes[sized.key]) < 2:
                found.append((function.sym_name.data, None))
            else:
                found.append((self.sized.place(sized, function).sym_name.data, sized.units))
        return found

    def _in_place(
        self, launches: Sequence[LaunchOp], ins: Sequence[SSAValue], outs: Sequence[SSAValue]
    ) -> list[tuple[int, int]]:
        """The inputs that one part alone reads, which its result may take the place of."""
        readers = Counter(value for launch in launches for value in launch.operands)
        return [
            (ins.index(launch.ins[i]), outs.index(launch.outs[o]))
            for launch in launches
            for i, o in attached(self.functions[launch.kernel.string_value()])
            if readers[launch.ins[i]] == readers[launch.outs[o]] == 1
        ]

    def _group(self, plan: _Plan, first: LaunchOp) -> str:
        types = tuple(value.type for value in (*plan.ins, *plan.outs))
        key = (plan.parts, types, len(plan.ins), tuple(plan.pairs))
        if key not in self._groups:
            name = self.sized.names.fresh(f"{first.kernel.string_value()}_group")
            group = GroupOp.make(name, [sym(i) for i in range(len(plan.values))], types)
            arguments = group.body.block.args
            for kernel, numbers, symbols in plan.parts:
                group.body.block.add_op(PartOp.make(kernel, [arguments[n] for n in numbers], symbols))
            attach(group, plan.pairs)
            carry_location(first, [group])
            self.module.body.block.add_op(group)
            self._groups[key] = name
        return self._groups[key]


def _called(module: ModuleOp) -> set[str]:
    return {op.kernel.string_value() for op in ops_within(module) if isinstance(op, LaunchOp | PartOp)}


def _bring_forward(values: Sequence[SSAValue], place: Operation) -> None:
    """Let the ops that name `values` stand before `place`."""
    block = place.parent
    assert block is not None
    behind: set[Operation] = set()
    op: Operation | None = place
    while op is not None:
        behind.add(op)
        op = op.next_op

    def bring(value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Operation) and owner in behind:
            assert isinstance(owner, MADE_ANYWHERE), "what it depends on stands before"
            for operand in owner.operands:
                bring(operand)
            behind.remove(owner)
            owner.detach()
            block.insert_op_before(owner, place)

    for value in values:
        bring(value)
