"""plan-memory: every temporary of a plan gets a place in one arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Monomial
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.th.memory import AllocOp, ArenaOp, BufferOp, EmptyOp, FreeOp
from tilewright.dialects.th.types import ARENA_TYPE
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.inplace import attached
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.tw.base import text

from ..rewrite import carry_location, may_rewrite
from .liveness import Block, bytes_needed, last_uses, lifetimes, memory_blocks
from .packing import Interval, pack

ALIGNMENT = 64
REQUESTED = "th.requested"
"""On `th.arena`: the bytes of all temporaries, had each its own memory."""


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Let temporaries that are not alive at the same time share memory, and free what ATen made.

    Before:
        %a = th.alloc "1024" : memref<1024xf32>
        th.launch @exp(%x) into(%a) : (memref<1024xf32>) into(memref<1024xf32>)
        %b = th.alloc "1024" : memref<1024xf32>
        th.launch @abs(%a) into(%b) : (memref<1024xf32>) into(memref<1024xf32>)
    After:
        %arena = th.arena "4096" {th.requested = "8192"} : memref<?xi8>
        %a = th.buffer %arena at "0" size "1024" : memref<1024xf32>
        th.launch @exp(%x) into(%a) : (memref<1024xf32>) into(memref<1024xf32>)
        %b = th.buffer %arena at "0" size "1024" : memref<1024xf32>
        th.launch @abs(%a) into(%b) : (memref<1024xf32>) into(memref<1024xf32>)

    An output takes the place of an input that dies in the same launch where the kernel
    allows it (`tk.inplace`); if the output is returned, the input is computed there too.
    Static sizes are packed by best fit; so are sizes that are multiples of one symbolic
    product, counted in that product. Other sizes only share with equal ones. A result of
    `th.call` is freed after its last use unless it is returned.
    """

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inplace = {f.sym_name.data: attached(f) for f in op.ops if isinstance(f, KernelFunction | GroupOp)}
        for function in defined_functions(op):
            if may_rewrite(function, "its memory was planned"):
                _plan(function, inplace)


def _plan(function: FuncOp, inplace: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    lives = lifetimes(function)
    blocks = memory_blocks(function, lives, inplace)
    for op, value in last_uses(function, lives):
        free = FreeOp.create(operands=[value])
        carry_location(op, [free])
        Rewriter.insert_op(free, InsertPoint.after(op))
    for block in blocks:
        if block.result is not None:
            _compute_in_result(block, block.result)
    blocks = [block for block in blocks if block.result is None]
    allocs = [op for op in function.body.block.ops if isinstance(op, AllocOp)]
    if not allocs:
        return
    offsets, size = _place(blocks)
    requested = sum((_aligned(bytes_needed(alloc)) for alloc in allocs), ZERO)
    arena = ArenaOp.create(
        result_types=[ARENA_TYPE],
        properties={"size": text(str(size))},
        attributes={REQUESTED: text(str(requested))},
    )
    arena.result.name_hint = "arena"
    carry_location(function, [arena])
    first = function.body.block.first_op
    assert first is not None
    Rewriter.insert_op(arena, InsertPoint.before(first))
    for alloc in allocs:
        _give_place(alloc, arena.result, offsets.get(alloc.result))


def _compute_in_result(block: Block, result: EmptyOp) -> None:
    """Let a tensor to return serve as the temporaries that lead to it."""
    result.detach()
    Rewriter.insert_op(result, InsertPoint.before(block.members[0]))
    for member in block.members:
        member.result.replace_all_uses_with(result.result)
        Rewriter.erase_op(member)


def _give_place(alloc: AllocOp, arena: SSAValue, offset: Expr | None) -> None:
    """Replace an alloc by its part of the arena, or remove it where nothing uses it."""
    if offset is None and not alloc.result.uses:
        Rewriter.erase_op(alloc)
        return
    buffer = BufferOp.create(
        operands=[arena],
        result_types=[alloc.result.type],
        properties={"offset": text(str(offset or ZERO)), "size": alloc.size},
    )
    carry_location(alloc, [buffer])
    Rewriter.replace_op(alloc, [buffer])


def _place(blocks: Sequence[Block]) -> tuple[dict[SSAValue, Expr], Expr]:
    """The byte offset of every temporary, and the size of the arena."""
    groups: dict[Monomial | Expr, list[Block]] = {}
    for block in blocks:
        groups.setdefault(_unit(block.bytes), []).append(block)
    offsets: dict[SSAValue, Expr] = {}
    base = ZERO
    for unit, members in groups.items():
        step = _aligned(unit) if isinstance(unit, Expr) else Expr(((unit, 1),))
        intervals = [Interval(b.life.start, b.life.end, _multiple(b.bytes, unit)) for b in members]
        places, total = pack(intervals)
        for block, place in zip(members, places, strict=True):
            for member in block.members:
                offsets[member.result] = base + step * place
        base = base + step * total
    return offsets, base


def _unit(size: Expr) -> Monomial | Expr:
    """What `size` is counted in: its product of symbols, or, where it is a sum, itself."""
    if len(size.terms) > 1:
        return size
    return size.terms[0][0] if size.terms else ONE.terms[0][0]


def _multiple(size: Expr, unit: Monomial | Expr) -> int:
    """How often `unit` is needed, aligned."""
    if isinstance(unit, Expr):
        return 1
    count = size.terms[0][1] if size.terms else 0
    return -(-count // ALIGNMENT) * ALIGNMENT


def _aligned(size: Expr) -> Expr:
    return size.ceildiv(ALIGNMENT) * ALIGNMENT
