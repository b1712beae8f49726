"""reduce-at-once: what is left of some axes is not reduced by a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, levels_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..fusion.merge import dependents, put_behind
from ..kernels.body import plain_axis
from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME, name_of, words_of
from ..rewrite import may_rewrite, replace_results, skip
from .cut_levels import Env, copied, sources_of


@dataclass(frozen=True)
class ReduceAtOncePass(ModulePass):
    """Reduce in one kernel what one reduces along some axes, and others along those that are left.

    Before:
        %c = tk.kernel [16, 512] ins(%p) -> (tensor<512xf32>) {... tk.reduce add %0 over [0] ...}
        %s = tk.kernel [512] ins(%c : tensor<512xf32>) -> (tensor<f32>) {... tk.reduce add %0 over [0] ...}
    After:
        %s = tk.kernel [16, 512] ins(%p) -> (tensor<f32>) {... tk.reduce add %0 over [0, 1] ...}

    So it is with parts of a sum that `align-reductions` let go along columns, and with such a sum whose
    columns found no kernel to be part of. `split-reductions` makes parts of what is long.
    """

    name = "reduce-at-once"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                if kernel.parent is not None:
                    _try(kernel)


@dataclass(frozen=True)
class _Reader:
    """A kernel that reduces to one number what another one reduced to some."""

    kernel: KernelOp
    done: dict[SSAValue, int]
    """What it reduces to, as the number of the result that it reads for it."""
    rest: Sequence[Operation]
    """What it computes with that."""


def _try(kernel: KernelOp) -> None:
    stored = _stored(kernel)
    if not stored:
        return
    users = dict.fromkeys(use.operation for result in kernel.results for use in result.uses)
    readers = [_reader(user, kernel, stored[0].kind.data) for user in users]
    found = [reader for reader in readers if reader is not None]
    if not found:
        return
    if len(found) < len(readers):
        return skip(kernel, "not reduced at once: something else reads the numbers between")
    order = [op for op in _between(kernel) if any(op is reader.kernel for reader in found)]
    last = order[-1]
    sunk = dependents(order[0], last, {*order}) if len(order) > 1 else []
    if isinstance(sunk, str):
        return skip(kernel, f"not reduced at once: {sunk}")
    if any(v.owner in (*order, *sunk) for reader in order for v in reader.operands):
        return skip(kernel, "not reduced at once: one of the numbers is made with another")
    if not may_rewrite(kernel, "reduced at once"):
        return
    made = _made(kernel, stored, found)
    Rewriter.insert_op(made, InsertPoint.after(last))
    put_behind(sunk, made)
    replace_results([result for reader in found for result in reader.kernel.results], made.results)
    for op in (*(reader.kernel for reader in found), kernel):
        Rewriter.erase_op(op)


def _between(kernel: KernelOp) -> list[Operation]:
    """What comes behind `kernel`, up to the last that reads it."""
    left = {use.operation for result in kernel.results for use in result.uses}
    found: list[Operation] = []
    op = kernel.next_op
    while op is not None and left:
        found.append(op)
        left.discard(op)
        op = op.next_op
    return found


def _stored(kernel: KernelOp) -> list[ReduceOp]:
    """The reductions of `kernel`, one for each result, if it does nothing but to store those as they are."""
    reductions, body = _reductions(kernel), Body.of(kernel.body.block)
    if not reductions or kernel.attributes.keys() - {NAME} or find_contraction(kernel.body.block) is not None:
        return []
    kept = frozenset(range(len(kernel.space))) - frozenset(reductions[0].over)
    by_buffer: dict[SSAValue, ReduceOp] = {}
    for sink in body.sinks():
        if not isinstance(sink, StoreOp) or sink.mask is not None or sink.dynamic or sink.scatters:
            return []
        if not isinstance(made := sink.value.owner, ReduceOp) or body.runs[sink] != kept:
            return []
        if sink.buffer in by_buffer:
            return []
        by_buffer[sink.buffer] = made
    return [by_buffer[d] for d in kernel.destinations]


def _reductions(kernel: KernelOp) -> list[ReduceOp]:
    """All that reduce, if they do so along the same axes, in the same way, and none reduces what others left.

    A sum of rows that were divided by their sums is none over all rows at once.
    """
    block = kernel.body.block
    found = [op for op in ops_of(block) if type(op) in REDUCTIONS_AND_SCANS]
    reductions = [op for op in found if isinstance(op, ReduceOp) and not op.attributes]
    alike = {(op.kind.data, frozenset(op.over)) for op in reductions}
    if len(alike) != 1 or len(reductions) < len(found) or max(levels_of(block).values()) > 1:
        return []
    return reductions


def _reader(user: Operation, kernel: KernelOp, kind: str) -> _Reader | None:
    """What `user` makes of results of `kernel`, if all it does with them is to reduce all, in this way."""
    if not isinstance(user, KernelOp) or user.attributes.keys() - {NAME}:
        return None
    reductions, body = _reductions(user), Body.of(user.body.block)
    if not reductions or reductions[0].kind.data != kind:
        return None
    made = {s: v for s, v in zip(user.sources, user.operands, strict=True) if v.owner is kernel}
    done: dict[SSAValue, int] = {}
    loads: list[Operation] = []
    for op in reductions:
        load = op.operands[0].owner
        if not isinstance(load, LoadOp) or len(load.operands) > 1 or not load.result.has_one_use():
            return None
        value, axes = made.get(load.buffer), [plain_axis(e) for e in load.subscripts]
        if value is None or sorted(a for a in axes if a is not None) != list(range(len(user.space))):
            return None
        if [user.space[a] for a in axes if a is not None] != list(sizes_of(value)):
            return None
        done[op.results[0]] = kernel.results.index(value)
        loads.append(load)
    rest = [op for op in body.ops if op not in reductions and op not in loads]
    if any(body.runs[op] or not made.keys().isdisjoint(op.operands) for op in rest):
        return None
    return _Reader(user, done, rest)


def _made(kernel: KernelOp, stored: Sequence[ReduceOp], readers: Sequence[_Reader]) -> KernelOp:
    """The kernel that reduces all axes, and does what each of `readers` does with it."""
    body = Body.of(kernel.body.block)
    ops = body.closure(stored, frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    others = [(r, i) for r in readers for i in sources_of(r.kernel, list(r.rest))]
    inputs = [*(kernel.operands[i] for i in used), *(r.kernel.operands[i] for r, i in others)]
    types = [type_ for reader in readers for type_ in reader.kernel.result_types]
    b = KernelBuilder(readers[-1].kernel.location, kernel.space, inputs, types)
    env: Env = dict(zip((kernel.sources[i] for i in used), b.kernel.sources, strict=False))
    read = b.kernel.sources[len(used) :]
    env.update(zip((r.kernel.sources[i] for r, i in others), read, strict=True))
    given = (d for reader in readers for d in reader.kernel.destinations)
    env.update(zip(given, b.kernel.destinations, strict=True))
    _copy(ops, b, env)
    for op in b.block.ops:
        if isinstance(op, ReduceOp):
            op.properties["axes"] = axes_attr(*range(len(kernel.space)))
    for reader in readers:
        env.update((value, env[stored[number].result]) for value, number in reader.done.items())
        _copy(reader.rest, b, env)
    words = [word for part in (kernel, *(reader.kernel for reader in readers)) for word in words_of(part)]
    b.kernel.attributes[NAME] = name_of(words)
    return b.kernel


def _copy(ops: Sequence[Operation], b: KernelBuilder, env: Env) -> None:
    for op in ops:
        new = copied(op, env, {})
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
