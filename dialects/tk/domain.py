"""Which axes a value varies over, in a kernel that is not scheduled yet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue

from ..attribute_facts import once
from ..index_expr import Expr
from ..ir_access import operands_of, ops_of
from .access import StoreOp
from .attributes import MapAttr
from .compute import ArgReduceOp, ReduceOp, ScanOp
from .moments import MomentsOp
from .sort import SortOp
from .sumexp import SumExpOp

REDUCTIONS = frozenset[type[Operation]]((ReduceOp, ArgReduceOp, MomentsOp, SumExpOp))
"""Classes, for `type(op) in`: `isinstance` of abstract classes costs ten times as much."""
ALONG = frozenset[type[Operation]]((ScanOp, SortOp))
"""What runs along an axis as a whole, and leaves it."""
REDUCTIONS_AND_SCANS = REDUCTIONS | ALONG
Reduction = ReduceOp | ArgReduceOp | MomentsOp | SumExpOp
Along = ScanOp | SortOp

Axes = frozenset[int]
_NONE: Axes = frozenset()


def axes_of_exprs(exprs: Iterable[Expr]) -> Axes:
    """The axes that occur in `exprs`."""
    return frozenset(v.index for e in exprs for v in e.variables() if v.kind == "d")


@once
def _axes_of_map(attr: MapAttr) -> Axes:
    return axes_of_exprs(attr.exprs)


def exprs_of(op: Operation) -> tuple[Expr, ...]:
    """The subscripts of a load or store, the value of a `tk.index`, () for any other op."""
    attr = op.properties.get("map")
    return attr.exprs if type(attr) is MapAttr else ()


def is_reduction(op: Operation) -> TypeGuard[Reduction]:
    """Whether `op` removes axes; asked of every op, as all below."""
    return type(op) in REDUCTIONS


def is_along(op: Operation) -> TypeGuard[Along]:
    """Whether `op` scans or sorts."""
    return type(op) in ALONG


def reduced_axes(op: Operation) -> tuple[int, ...]:
    """The axes that `op` removes, () for any other op."""
    return op.over if is_reduction(op) else ()


def own_axes(op: Operation) -> Axes:
    """The axes that `op` names itself: in subscripts, or as those that it goes along."""
    attr = op.properties.get("map")
    axes = _axes_of_map(attr) if type(attr) is MapAttr else _NONE
    if type(op) is StoreOp or is_reduction(op):
        return axes.union(op.over)
    return frozenset((op.along,)) if is_along(op) else axes


def axes_of_op(op: Operation, domains: dict[SSAValue, Axes]) -> Axes:
    """The axes over which `op` runs: before a reduction removes any."""
    return own_axes(op).union(*map(domains.get, operands_of(op), repeat(_NONE)))


def domains_of(block: Block) -> dict[SSAValue, Axes]:
    """The axes of every value of a kernel body, in one walk."""
    return runs_and_domains(block)[1]


def runs_and_domains(block: Block) -> tuple[dict[Operation, Axes], dict[SSAValue, Axes]]:
    """`axes_of_op` of every op, and the axes of every value, in one walk."""
    runs: dict[Operation, Axes] = {}
    domains: dict[SSAValue, Axes] = {}
    for op in ops_of(block):
        runs[op] = axes = axes_of_op(op, domains)
        left = axes.difference(reduced_axes(op))
        for result in op.results:
            domains[result] = left
    return runs, domains


def axes_of(value: SSAValue) -> Axes:
    """The axes of one value; use `domains_of` to ask about many."""
    todo, domains = [value], dict[SSAValue, Axes]()
    while todo:
        owner = todo[-1].owner
        if not isinstance(owner, Operation):
            domains[todo.pop()] = _NONE
            continue
        missing = [v for v in operands_of(owner) if v not in domains]
        if missing:
            todo.extend(missing)
            continue
        axes = axes_of_op(owner, domains).difference(reduced_axes(owner))
        for result in owner.results:
            domains[result] = axes
        todo.pop()
    return domains[value]


def levels_of(block: Block) -> dict[SSAValue, int]:
    """How many reductions and sorts, one after the other, stand above each value."""
    levels: dict[SSAValue, int] = {}
    for op in ops_of(block):
        level = max((levels.get(v, 0) for v in operands_of(op)), default=0)
        for result in op.results:
            levels[result] = level + bool(reduced_axes(op) or type(op) is SortOp)
    return levels
