"""The `sum-chains` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import product
from tilewright.dialects.scalars import number_of
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import Axes, domains_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.join import Frame, join
from ..fusion.merge import dependents, put_behind
from ..kernels.body import loads_of, simplify_body
from ..kernels.chains import Chain, chains_of, find_chain
from ..rewrite import may_rewrite, skip, take_results
from ..schedule.cost import estimate
from ..schedule.tiles.chain_blocks import keep_busy
from .walk_lists import goes_along_lists


@dataclass(frozen=True)
class SumChainsPass(ModulePass):
    """Sum the results of chained products over batches in the programs that make them.

    Before (gradients of keys that heads of queries share, of a program that writes out attention):
        %k = tk.kernel [8, 64, 16, 64, 16] ins(%q, %v, %g) -> (tensor<8x64x16xf32>) {
          ... %5 = tk.reduce add %4 over [3] : f32 ... tk.store %5, %o[d0, d1, d2] ...}
        %s = tk.kernel [2, 64, 16, 4] ins(%k) -> (tensor<2x64x16xf32>) {
          %0 = tk.load %a[d0*4 + d3, d1, d2] ... %1 = tk.reduce add %0 over [3] ...}
    After:
        %s = tk.kernel [2, 64, 16, 4, 64, 16] ins(%q, %v, %g) -> (tensor<2x64x16xf32>) {
          ... %5 = tk.reduce add %4 over [3, 4] : f32 ...}

    Its chain goes along one batch after the other then (`Chain.around`), and results of single batches are
    never written. All results of a chain must be summed over the same batches and read by nobody else, by
    sums of what the chain adds up, or of a multiple by a number, in f32. Left alone is what would leave too
    few programs for a GPU, and what goes along listed blocks.
    """

    name = "sum-chains"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel, chain in chains_of(op):
            _sum_results(kernel, chain)


def _sum_results(kernel: KernelOp, chain: Chain) -> None:
    readers = [_reader(result) for result in kernel.results]
    sums = [reader for reader in readers if reader is not None]
    if len(sums) != len(readers):
        return None
    if goes_along_lists(kernel, chain):
        return skip(kernel, "its results are summed elsewhere: it goes along listed blocks")
    order = sorted(dict.fromkeys(sums), key=_place)
    made = _made(kernel, sums, order)
    if isinstance(made, str):
        return skip(kernel, f"its results are summed elsewhere: {made}")
    sunk = dependents(kernel, order[-1], {kernel, *order})
    if isinstance(sunk, str) or any(v.owner in sunk for v in made.operands):
        made.erase()
        return skip(kernel, "its results are summed elsewhere: another path leads from one to the other")
    if not may_rewrite(kernel, "sums its results"):
        made.erase()
        return None
    Rewriter.insert_op(made, InsertPoint.before(order[-1]))
    take_results(made, [r for reader in order for r in reader.results])
    put_behind(sunk, order[-1])
    for op in (*reversed(order), kernel):
        Rewriter.erase_op(op)
    return None


def _reader(result: OpResult) -> KernelOp | None:
    """The kernel that sums `result` and does nothing else, if that alone reads it."""
    users = {use.operation for use in result.uses}
    reader = next(iter(users), None)
    if len(users) != 1 or not isinstance(reader, KernelOp):
        return None
    over = [op for op in reader.body.block.ops if reduced_axes(op)]
    plain = len(over) == 1 and isinstance(over[0], ReduceOp) and over[0].kind.data == "add"
    return reader if plain and over[0].results[0].type == f32 and len(_loads(result, reader)) == 1 else None


def _loads(result: OpResult, reader: KernelOp) -> list[Operation]:
    return list(loads_of(reader.sources[list(reader.operands).index(result)]))


def _place(op: Operation) -> int:
    block = op.parent
    assert isinstance(block, Block)
    return block.get_operation_index(op)


def _made(kernel: KernelOp, sums: Sequence[KernelOp], order: Sequence[KernelOp]) -> KernelOp | str:
    """Both as one kernel, in no block yet; `sums` by the results of `kernel`."""
    first, *others = zip(kernel.results, sums, strict=True)
    frame = Frame(first[1])
    why = frame.place_producer(first[0], first[1])
    for result, reader in others:
        if why is None and reader is not first[1]:
            why = frame.place_reader(result, reader)
    if why is not None:
        return why
    made = join((kernel, *order), [r for reader in order for r in reader.results], frame)
    if isinstance(made, str):
        return made
    _add_at_once(made.body.block)
    simplify_body(made)
    if (why := _drawback(made)) is not None:
        made.erase()
        return why
    return made


def _drawback(made: KernelOp) -> str | None:
    chain = find_chain(made.body.block)
    if chain is None or not chain.around:
        return "together they are no chain that goes along batches"
    inside = {chain.row, chain.along, *chain.around, *chain.held}
    batches = product(size for axis, size in enumerate(made.space) if axis not in inside)
    if not keep_busy(estimate(batches), made.space[chain.row]):
        return "few programs would go a long way"
    return None


def _add_at_once(block: Block) -> None:
    """Let one reduction do what two do in a row."""
    domains = domains_of(block)
    for total in [op for op in block.ops if isinstance(op, ReduceOp)]:
        factors: list[SSAValue] = []
        part = _added(total.value, frozenset(total.over), domains, factors)
        if part is None:
            continue
        found = part.clone()
        found.properties["axes"] = axes_attr(*sorted({*part.over, *total.over}))
        block.insert_op_before(found, total)
        value: SSAValue = found.result
        for factor in reversed(factors):
            scaled = arith.MulfOp(value, factor)
            scaled.location = total.location
            block.insert_op_before(scaled, total)
            value = scaled.result
        total.result.replace_all_uses_with(value)
        Rewriter.erase_op(total)


def _added(
    value: SSAValue, over: Axes, domains: dict[SSAValue, Axes], factors: list[SSAValue]
) -> ReduceOp | None:
    """The sum of which `value` is a multiple, by f32 that go to `factors`, if it varies along `over`."""
    op = value.owner
    if isinstance(op, ReduceOp):
        plain = op.kind.data == "add" and op.result.type == f32 and over <= domains[op.value]
        return op if plain else None
    if isinstance(op, arith.ExtFOp | arith.TruncFOp):
        return _added(op.operands[0], over, domains, factors)
    if isinstance(op, arith.MulfOp):
        for part, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            number = number_of(factor)
            if number is not None and isfinite(number) and factor.type == f32:
                factors.append(factor)
                return _added(part, over, domains, factors)
    return None
