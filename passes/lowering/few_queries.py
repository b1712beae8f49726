"""Attention of few queries: which of them share a tile, and in how many parts their keys are worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.attention import AttentionOp
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.view import ConcatOp
from tilewright.dialects.types import sizes_of

from ..fusion.repeats import size_in_bytes
from ..schedule.cost import estimate
from ..schedule.tiles.chain_blocks import PROGRAMS
from .lower_products import VIEWS

_FEW = 16
"""Rows of queries of one head that leave room in a tile for those of others."""
_TILE = 128
"""Rows of a tile that a program has at most."""
_LEAST = 128
"""Keys of a part: a program of fewer is over before it has begun."""
_LEAST_OF_MANY = 512
"""The same where rows of one head fill tiles: these compute rather than wait, and their parts are joined."""
_WHOLE = 16
"""Keys are read by vectors, so that parts begin at multiples of that."""
_NEAR = 64
"""Values behind keys that are looked at."""
_MADE = (*VIEWS, ConcatOp, FullOp)
"""What a kernel that reads keys does beside arithmetic."""
_GUESS = 4096
"""A symbol, where that says how long a cache of keys is."""


@dataclass(frozen=True)
class Parts:
    """How an attention is computed."""

    group: int
    """Heads of queries that are rows of one tile."""
    count: int
    """Parts of the keys."""
    length: Expr
    """Keys of a part: those of the last parts may not exist."""

    @property
    def is_plain(self) -> bool:
        return self.group == 1 and self.count == 1


def parts_of(op: AttentionOp) -> Parts | str:
    """The parts that keep a GPU busy, or why there are none."""
    if op.is_causal is not None or op.seed is not None:
        return "it asks where a key stands"
    heads, rows, shared = (size.constant for size in (*sizes_of(op.query)[1:3], sizes_of(op.key)[1]))
    keys = sizes_of(op.key)[2]
    if heads is None or rows is None or shared is None:
        return "its heads or rows are of a symbolic number"
    if (pairs := estimate(sizes_of(op.query)[0]) * shared) == 0 or rows == 0:
        return Parts(1, 1, keys)
    group = heads // shared
    together = rows <= _FEW
    tiles = -(-rows * group // _TILE) if together else -(-rows // _TILE) * group
    count, length = _cut(keys, PROGRAMS // (pairs * tiles), _LEAST if together else _LEAST_OF_MANY)
    worth = together and (count > 1 or pairs * tiles >= PROGRAMS)
    if rows == 1 and count == 1 and (group == 1 or not worth) and any(map(_made_of_less, (op.key, op.value))):
        count, length = _cut(keys, 2, _LEAST)  # so that a row is never alone
    return Parts(group if worth else 1, count, length)


def _made_of_less(value: SSAValue) -> bool:
    """Whether what a kernel computes `value` of is less than it: keys of few bits, of fewer heads."""
    todo, seen, given = [value], set[SSAValue](), list[SSAValue]()
    while todo:
        found = todo.pop()
        if found in seen:
            continue
        seen.add(found)
        owner = found.owner
        if len(seen) < _NEAR and _is_made(owner):
            todo += owner.operands
        else:
            given.append(found)
    return sum(map(size_in_bytes, given)) < size_in_bytes(value)


def _is_made(owner: Operation | Block) -> TypeGuard[Operation]:
    return isinstance(owner, Operation) and (owner.has_trait(Elementwise) or isinstance(owner, _MADE))


def _cut(keys: Expr, programs: int, least: int) -> tuple[int, Expr]:
    """The number of parts, at most `programs` and of about `least` keys or more, and their length."""
    about = keys.evaluate(dict.fromkeys(keys.variables(), _GUESS))
    most = min(programs, about // least)
    if most <= 1:
        return 1, keys
    if keys.constant is None:
        return most, keys.ceildiv(most * _WHOLE) * _WHOLE
    even = next((n for n in range(most, most // 2, -1) if about % (n * _WHOLE) == 0), None)
    length = about // even if even is not None else -(-about // (most * _WHOLE)) * _WHOLE
    return -(-about // length), as_expr(length)
