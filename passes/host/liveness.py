"""When each temporary of a plan is in use, and which share memory by being computed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, parse_expr, parse_exprs
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.dialects.th.memory import AllocOp, DataOp, EmptyOp, ViewOp
from tilewright.dialects.th.types import span
from tilewright.dialects.types import bytes_of, element_type_of

from ..memory.library_calls import ADDED_PRODUCTS


@dataclass
class Lifetime:
    """The first and the last op (by position) that touch a value, its views included."""

    start: int
    end: int


@dataclass
class Block:
    """One stretch of memory and the temporaries that use it, one after the other."""

    members: list[AllocOp]
    life: Lifetime
    bytes: Expr
    result: EmptyOp | None = None
    """The tensor to return that takes their place, where the last one is turned into it in place."""


def lifetimes(function: FuncOp) -> dict[SSAValue, Lifetime]:
    """For what `th.alloc`, `th.empty`, `th.call` and `th.control` make; values never touched are absent."""
    roots: dict[SSAValue, SSAValue] = {}
    lives: dict[SSAValue, Lifetime] = {}
    for position, op in enumerate(function.body.block.ops):
        if isinstance(op, AllocOp | EmptyOp):
            roots[op.results[0]] = op.results[0]
            continue
        if isinstance(op, ViewOp | DataOp):
            source = op.operands[0]
            if source in roots:
                roots[op.results[0]] = roots[source]
            continue
        for result in op.results if isinstance(op, CallOp | ControlOp) else ():
            roots[result] = result
            lives[result] = Lifetime(position, position)
        for operand in op.operands:
            if operand in roots:
                lives.setdefault(roots[operand], Lifetime(position, position)).end = position
    return lives


def bytes_needed(alloc: AllocOp) -> Expr:
    return _bytes(alloc.size.data, bytes_of(element_type_of(alloc.results[0])))


def _bytes_of_empty(op: EmptyOp) -> Expr:
    return span(parse_exprs(op.sizes.data), parse_exprs(op.strides.data)) * bytes_of(
        element_type_of(op.results[0])
    )


@lru_cache(maxsize=4096)
def _bytes(size: str, element: int) -> Expr:
    return parse_expr(size) * element


def memory_blocks(
    function: FuncOp,
    lives: Mapping[SSAValue, Lifetime],
    inplace: Mapping[str, Sequence[tuple[int, int]]],
) -> list[Block]:
    """The temporaries as blocks, in program order; `inplace` gives a kernel's (input, output) pairs."""
    block_of: dict[SSAValue, Block] = {}
    blocks: list[Block] = []
    for position, op in enumerate(function.body.block.ops):
        if isinstance(op, AllocOp):
            life = lives.get(op.result)
            if life is None:
                continue
            block = Block([op], Lifetime(life.start, life.end), bytes_needed(op))
            block_of[op.result] = block
            blocks.append(block)
        elif isinstance(op, LaunchOp | ExternOp):
            for taken, out in _merges(op, position, lives, _pairs(op, inplace)):
                kept = block_of[taken]
                if isinstance(out.owner, EmptyOp):
                    if _bytes_of_empty(out.owner) == kept.bytes:
                        kept.result = out.owner
                    continue
                dropped = block_of[out]
                if kept is dropped or kept.bytes != dropped.bytes:
                    continue
                kept.members += dropped.members
                kept.life.end = max(kept.life.end, dropped.life.end)
                block_of[out] = kept
                dropped.members = []
    return [block for block in blocks if block.members]


def _pairs(
    op: LaunchOp | ExternOp, inplace: Mapping[str, Sequence[tuple[int, int]]]
) -> list[tuple[SSAValue, SSAValue]]:
    """Inputs with the outputs that may take their place, where they die here."""
    if isinstance(op, LaunchOp):
        return [(op.ins[i], op.outs[o]) for i, o in inplace.get(op.kernel.string_value(), ())]
    views = added_in_place(op)
    return [] if views is None else [(views[0].source, views[1].source)]


def added_in_place(op: ExternOp) -> tuple[ViewOp, ViewOp] | None:
    """What a product is added to, and the sum, if the sum may be stored there: they lie alike."""
    if op.callee.data.removesuffix(".out") not in ADDED_PRODUCTS or not op.ins:
        return None
    start, total = op.ins[0].owner, op.outs[0].owner
    if not isinstance(start, ViewOp) or not isinstance(total, ViewOp) or len(op.ins) < 3:
        return None
    return (start, total) if start.properties == total.properties else None


def _merges(
    op: LaunchOp | ExternOp,
    position: int,
    lives: Mapping[SSAValue, Lifetime],
    pairs: Sequence[tuple[SSAValue, SSAValue]],
) -> list[tuple[SSAValue, SSAValue]]:
    """Inputs that die here and outputs that are born here, paired; each value at most once."""
    found: list[tuple[SSAValue, SSAValue]] = []
    operands = [_buffer(value) for value in op.operands]
    if any(isinstance(v.owner, DataOp) and isinstance(v.owner.source.owner, ViewOp) for v in operands):
        return []  # a buffer under a second name
    for value, out in pairs:
        if not (isinstance(value.owner, AllocOp) and isinstance(out.owner, AllocOp | EmptyOp)):
            continue
        if value.type != out.type:
            continue
        if operands.count(value) != 1 or operands.count(out) != 1:
            continue
        if lives[value].end != position or lives[out].start != position:
            continue
        if any(value in pair or out in pair for pair in found):
            continue
        found.append((value, out))
    return found


def _buffer(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ViewOp):
        value = value.owner.source
    return value


def last_uses(function: FuncOp, lives: Mapping[SSAValue, Lifetime]) -> list[tuple[Operation, SSAValue]]:
    """(op, result of a call) for every result that is last touched by `op` and not returned."""
    ops = list(function.body.block.ops)
    found = [
        (life.end, value)
        for value, life in lives.items()
        if isinstance(value.owner, CallOp | ControlOp) and life.end != len(ops) - 1
    ]
    return [(ops[end], value) for end, value in sorted(found, key=lambda item: item[0])]
