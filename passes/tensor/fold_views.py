"""View ops that do nothing, and chains of view ops that are one."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.view import (
    BroadcastOp,
    ReshapeOp,
    TransposeOp,
)
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite, Rules
from .fold_slices import SLICE_RULES, same_type, view_of_full


def reshape_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Of two reshapes only the last shape counts; a broadcast that adds only 1s is one."""
    inner = op.operands[0].owner
    if isinstance(inner, ReshapeOp):
        return rw.value(ReshapeOp(inner.source, sizes_of(op.results[0])))
    return None


def broadcast_as_reshape(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A broadcast that repeats nothing only adds dimensions of size 1."""
    assert isinstance(op, BroadcastOp)
    dims, source, result = ints(op.dims), sizes_of(op.source), sizes_of(op.result)
    new_are_one = all(n.constant == 1 for d, n in enumerate(result) if d not in dims)
    kept = all(source[i] == result[d] for i, d in enumerate(dims))
    return rw.value(ReshapeOp(op.source, result)) if new_are_one and kept else None


def broadcast_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Two broadcasts are one."""
    assert isinstance(op, BroadcastOp)
    inner = op.source.owner
    if not isinstance(inner, BroadcastOp):
        return None
    outer_dims = ints(op.dims)
    dims = [outer_dims[d] for d in ints(inner.dims)]
    return rw.value(BroadcastOp(inner.source, sizes_of(op.result), dims))


def broadcast_of_ones(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Dimensions of size 1 that a reshape added or dropped do not matter to a broadcast."""
    assert isinstance(op, BroadcastOp)
    inner = op.source.owner
    if not isinstance(inner, ReshapeOp):
        return None
    dims = ints(op.dims)
    before = [(i, n) for i, n in enumerate(sizes_of(inner.source)) if n.constant != 1]
    after = [(dims[i], n) for i, n in enumerate(sizes_of(op.source)) if n.constant != 1]
    if [n for _, n in before] != [n for _, n in after]:
        return None
    if len(before) == len(sizes_of(inner.source)):  # no dimension of size 1: use it as it is
        return rw.value(BroadcastOp(inner.source, sizes_of(op.result), [d for d, _ in after]))
    if len(after) == len(dims):
        return None  # the reshape drops the 1s: already in its simplest form
    squeezed = rw.value(ReshapeOp(inner.source, [n for _, n in before]))
    return rw.value(BroadcastOp(squeezed, sizes_of(op.result), [d for d, _ in after]))


def transpose_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Two permutations are one; the identity is none."""
    assert isinstance(op, TransposeOp)
    perm = ints(op.perm)
    if perm == tuple(range(len(perm))):
        return op.source
    inner = op.source.owner
    if not isinstance(inner, TransposeOp):
        return None
    first = ints(inner.perm)
    return rw.value(TransposeOp(inner.source, [first[p] for p in perm]))


def transpose_of_ones(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Moving dimensions of size 1 about is a reshape."""
    assert isinstance(op, TransposeOp)
    sizes = sizes_of(op.source)
    moved = [p for p in ints(op.perm) if sizes[p].constant != 1]
    return rw.value(ReshapeOp(op.source, sizes_of(op.result))) if moved == sorted(moved) else None


def transpose_of_broadcast(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Broadcast straight to the permuted dimensions, where their order stays increasing."""
    assert isinstance(op, TransposeOp)
    inner = op.source.owner
    if not isinstance(inner, BroadcastOp):
        return None
    place = {p: i for i, p in enumerate(ints(op.perm))}
    dims = [place[d] for d in ints(inner.dims)]
    if dims != sorted(dims):
        return None
    return rw.value(BroadcastOp(inner.source, sizes_of(op.result), dims))


VIEW_RULES: Rules = {
    **SLICE_RULES,
    ReshapeOp: (same_type, view_of_full, reshape_chain),
    BroadcastOp: (
        same_type,
        view_of_full,
        broadcast_as_reshape,
        broadcast_chain,
        broadcast_of_ones,
    ),
    TransposeOp: (transpose_chain, view_of_full, transpose_of_ones, transpose_of_broadcast),
}
