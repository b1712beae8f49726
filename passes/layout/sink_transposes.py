"""sink-transposes: permute the results of a chain of ops once, not what flows through it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.view import TransposeOp

from ..memory.layouts import inverse
from ..rewrite import may_rewrite, skip
from .permute import (
    Perm,
    can_permute,
    has_row,
    is_free,
    is_identity,
    permute,
    permuted,
    result_perm,
)


@dataclass(frozen=True)
class SinkTransposesPass(ModulePass):
    """Move transposes below elementwise ops, reductions, views, windows and gathers.

    Before:
        %t = tw.transpose %x by [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
        %e = tw.exp %t : tensor<4x8xf32>
        %u = tw.transpose %e by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    After:
        %e = tw.exp %x : tensor<8x4xf32>
        %t = tw.transpose %e by [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
        %u = tw.transpose %t by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>

    All ops that transposed values flow through move together, if that leaves fewer live
    transposes: those at the end replace those at the start, and cancel with opposite ones
    there (`simplify-views`). A full tensor or a broadcast joins for free, as it can be
    written in any order; any other operand costs a transpose. Leaves dead transposes
    behind; run `dce` next.
    """

    name = "sink-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            sink_transposes(function.body.block)


@dataclass
class _Chain:
    """Ops that transposed values flow through, and what their moving costs and saves."""

    ops: list[Operation] = field(default_factory=list[Operation])
    seeds: dict[Operation, None] = field(default_factory=dict[Operation, None])
    entering: dict[tuple[SSAValue, Perm], None] = field(default_factory=dict[tuple[SSAValue, Perm], None])
    """Values that have to be transposed in order to take part."""

    def absorb(self, other: _Chain) -> None:
        self.ops += other.ops
        self.seeds |= other.seeds
        self.entering |= other.entering


@dataclass
class _Flow:
    """Which ops carry which permutation, found in one walk over the block."""

    seeds: Collection[Operation] | None
    """The transposes that are to be moved; None for all."""
    perms: dict[SSAValue, Perm] = field(default_factory=dict[SSAValue, Perm])
    """Values that are permutations of what a chain would compute, or of a seed's source."""
    chain_of: dict[Operation, _Chain] = field(default_factory=dict[Operation, _Chain])
    flowing: dict[Operation, Perm] = field(default_factory=dict[Operation, Perm])
    """The permutation of the operands of each member of a chain."""

    def visit(self, op: Operation) -> None:
        if isinstance(op, TransposeOp):
            if self.seeds is None or op in self.seeds:
                self.perms[op.result] = ints(op.perm)
            return
        moved = [v for v in permuted(op) if v in self.perms]
        if not moved or not has_row(op):
            return
        perm = self.perms[moved[0]]
        if not can_permute(op, perm):
            return skip(op, "not sunk: it merges or splits across what is transposed", moved[0])
        if any(self.perms[v] != perm for v in moved):
            return skip(op, "not sunk: operands are transposed differently", moved[0])
        self._join(op, moved)
        self.flowing[op] = perm
        plain = [v for v in permuted(op) if v not in self.perms and not is_free(v, perm)]
        self.chain_of[op].entering |= {(v, perm): None for v in plain}
        found = result_perm(op, perm)
        if not is_identity(found):
            self.perms |= dict.fromkeys(op.results, found)

    def _join(self, op: Operation, moved: list[SSAValue]) -> None:
        chain = _Chain([op])
        for value in moved:
            owner = value.owner
            assert isinstance(owner, Operation)
            if isinstance(owner, TransposeOp):
                chain.seeds[owner] = None
                continue
            other = self.chain_of[owner]
            if other is chain:
                continue
            if len(other.ops) > len(chain.ops):
                chain, other = other, chain
            chain.absorb(other)
            for member in other.ops:
                self.chain_of[member] = chain
        self.chain_of[op] = chain

    def balance(self, chain: _Chain) -> tuple[int, int]:
        """How many transposes there would be no more, and how many would be new."""
        members = set(chain.ops)
        costs = sum(not _is_undone(value, perm) for value, perm in chain.entering)
        saved = sum(all(use.operation in members for use in seed.results[0].uses) for seed in chain.seeds)
        for result in (result for op in chain.ops for result in op.results):
            if (perm := self.perms.get(result)) is None:
                continue
            outside = [use.operation for use in result.uses if use.operation not in members]
            saved += _is_undone(result, perm)
            costs += any(not isinstance(user, TransposeOp) for user in outside)
        return saved, costs


def _is_undone(value: SSAValue, perm: Perm) -> bool:
    """Whether something transposes `value` by the inverse of `perm` already."""
    users = (use.operation for use in value.uses)
    return any(isinstance(user, TransposeOp) and ints(user.perm) == inverse(perm) for user in users)


def sink_transposes(block: Block, seeds: Collection[Operation] | None = None) -> None:
    """Move transposes, of which `seeds` are some, below what they flow through; see `SinkTransposesPass`.

    With `seeds` a chain moves that costs nothing, too: it reads what the others read.
    """
    flow = _Flow(seeds)
    for op in block.ops:
        flow.visit(op)
    accepted: dict[int, bool] = {}
    for op in list(block.ops):
        if (chain := flow.chain_of.get(op)) is None:
            continue
        if id(chain) not in accepted:
            saved, costs = flow.balance(chain)
            accepted[id(chain)] = saved > costs or (seeds is not None and not costs)
        if accepted[id(chain)]:
            if may_rewrite(op, "moved before its transposes"):
                _move(block, op, flow.flowing[op])
        else:
            skip(op, "not sunk: no fewer transposes would be live", op.results[0])


def _move(block: Block, op: Operation, perm: Perm) -> None:
    """Let `op` compute on what its operands, transposed by `perm`, are made from."""
    new_ops, values = permute(op, perm)
    for new in new_ops:
        new.location = op.location
        block.insert_op_before(new, op)
    for result, value in zip(op.results, values, strict=True):
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    block.erase_op(op)
