"""Sums over rows and columns, as sums of rows that a kernel adds up: tiles that make rows make those of each.

t = sum(d * s)    over heads' rows and columns     ->     r = sum(d * s) of each row;  t = sum(r)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, levels_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME
from ..reductions.cut_levels import Env, copied, named, sources_of
from ..rewrite import replace_results


@dataclass(frozen=True)
class Sums:
    """What a kernel adds up, and what else it does."""

    over: frozenset[int]
    reductions: Sequence[ReduceOp]
    beside: Sequence[StoreOp]
    """Stores that need no sum."""


def sums_of(kernel: KernelOp) -> Sums | None:
    """None where it does more than to add up, all along the same axes, and to compute with the sums.

    The sums have each axis that is left: one that is the same along an empty one would be a sum of nothing.
    """
    found = [op for op in kernel.body.block.ops if type(op) in REDUCTIONS_AND_SCANS]
    reductions = [op for op in found if isinstance(op, ReduceOp) and _is_plain(op)]
    if not reductions or len(reductions) < len(found) or len({frozenset(op.over) for op in reductions}) > 1:
        return None
    body, levels = Body.of(kernel.body.block), levels_of(kernel.body.block)
    over = frozenset(reductions[0].over)
    if any(len(body.runs[op] | over) < len(kernel.space) for op in reductions):
        return None
    beside = list[StoreOp]()
    for sink in body.sinks():
        level = max(levels.get(value, 0) for value in sink.operands)
        if not isinstance(sink, StoreOp) or sink.scatters or level > 1 or (level and body.runs[sink] & over):
            return None
        if not level:
            beside.append(sink)
    return Sums(over, reductions, beside)


def _is_plain(op: ReduceOp) -> bool:
    return op.kind.data == "add" and op.result.type == f32 and not op.attributes


@dataclass(frozen=True)
class SumsOfRows:
    """Two kernels where one was: `rows` adds up columns and does what needs no sum, `rest` adds up rows."""

    kernel: KernelOp
    operands: Sequence[SSAValue]
    results: Sequence[SSAValue]
    """Of the two, in the order of the results of `kernel`."""
    rows: KernelOp
    rest: KernelOp

    def undo(self) -> None:
        """Let everything be as it was."""
        Rewriter.insert_op(self.kernel, InsertPoint.before(self.rows))
        self.kernel.operands = self.operands
        for old, new in zip(self.kernel.results, self.results, strict=True):
            new.replace_all_uses_with(old)
        for op in (self.rest, self.rows):
            Rewriter.erase_op(op)


def sum_rows_first(kernel: KernelOp, sums: Sums, column: int) -> SumsOfRows:
    """Put the two kernels into place; `kernel` is in no block then, and reads nothing."""
    body = Body.of(kernel.body.block)
    rows = _rows(kernel, body, sums, column)
    rest = _rest(kernel, body, sums, rows, column)
    beside = {op.buffer for op in sums.beside}
    of_rows, of_rest = iter(rows.results[len(sums.reductions) :]), iter(rest.results)
    results = [next(of_rows if d in beside else of_rest) for d in kernel.destinations]
    operands = list(kernel.operands)
    Rewriter.insert_op([rows, rest], InsertPoint.before(kernel))
    replace_results(kernel.results, results)
    kernel.detach()
    kernel.operands = ()
    return SumsOfRows(kernel, operands, results, rows, rest)


def _rows(kernel: KernelOp, body: Body, sums: Sums, column: int) -> KernelOp:
    kept = [a for a in range(len(kernel.space)) if a != column]
    ops = body.closure((*sums.reductions, *sums.beside), frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    made = tensor_type(f32, [kernel.space[a] for a in kept])
    stored = {op.buffer for op in sums.beside}
    types = [type_ for d, type_ in zip(kernel.destinations, kernel.result_types, strict=True) if d in stored]
    inputs = [kernel.operands[i] for i in used]
    b = KernelBuilder(kernel.location, kernel.space, inputs, [*(made for _ in sums.reductions), *types])
    env: Env = dict(zip((kernel.sources[i] for i in used), b.kernel.sources, strict=True))
    destinations = b.kernel.destinations[len(sums.reductions) :]
    env.update(zip((d for d in kernel.destinations if d in stored), destinations, strict=True))
    _copy(ops, b, env, {})
    for op in b.block.ops:
        if isinstance(op, ReduceOp):
            op.properties["axes"] = axes_attr(column)
    for number, op in enumerate(sums.reductions):
        b.location = op.location
        b.store(env[op.result], [dim(a) for a in kept], number)
    b.kernel.attributes[NAME] = named(kernel, "rows")
    return b.kernel


def _rest(kernel: KernelOp, body: Body, sums: Sums, rows: KernelOp, column: int) -> KernelOp:
    kept = [a for a in range(len(kernel.space)) if a != column]
    change = {Var("d", a): dim(i) for i, a in enumerate(kept)}
    done = frozenset(op.result for op in sums.reductions)
    ops = body.closure([op for op in body.sinks() if op not in sums.beside], done)
    ops = [op for op in ops if op not in sums.reductions]
    used, beside = sources_of(kernel, ops), {op.buffer for op in sums.beside}
    handed = rows.results[: len(sums.reductions)]
    inputs = [*handed, *(kernel.operands[i] for i in used)]
    types = [
        type_ for d, type_ in zip(kernel.destinations, kernel.result_types, strict=True) if d not in beside
    ]
    b = KernelBuilder(kernel.location, [kernel.space[a] for a in kept], inputs, types)
    env: Env = dict(zip((kernel.sources[i] for i in used), b.kernel.sources[len(handed) :], strict=True))
    env.update(zip((d for d in kernel.destinations if d not in beside), b.kernel.destinations, strict=True))
    over = [kept.index(a) for a in sorted(sums.over) if a != column]
    for number, op in enumerate(sums.reductions):
        b.location = op.location
        loaded = b.load(number, b.axes)
        env[op.result] = b.add(ReduceOp.make("add", loaded, over)).results[0]
    _copy(ops, b, env, change)
    b.kernel.attributes.update(kernel.attributes)
    return b.kernel


def _copy(ops: Sequence[Operation], b: KernelBuilder, env: Env, change: dict[Var, Expr]) -> None:
    for op in ops:
        new = copied(op, env, change)
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
