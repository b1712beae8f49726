"""slice-gathers: what is gathered or scattered at positions that are counted is a slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, Expr, as_expr, parse_expr
from tilewright.dialects.tw.base import ints
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterAddOp, ScatterOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, PadOp, ReshapeOp, SliceOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..rewrite import skip
from .driver import Rewrite, Rules, apply_rules
from .splats import splat_of


@dataclass(frozen=True)
class SliceGathersPass(ModulePass):
    """Slice where positions are counted one by one, and add up or pad where values are scattered there.

    Before:
        %i = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
        %g = tw.gather %table[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
        %b = tw.broadcast %i dims [1] : tensor<6xi64> -> tensor<3x6xi64>
        %s = tw.scatter_add %v into %zero[%b] dims [0] at 0 : (..., tensor<3x6xi64>) -> tensor<9x4xf32>
    After:
        %g = tw.slice %table starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<6x4xf32>
        %0 = tw.sum %v over [0] : tensor<3x6x4xf32> -> tensor<6x4xf32>
        %s = tw.pad %0 low "0, 0" high "3, 0" value 0.0 : tensor<6x4xf32> -> tensor<9x4xf32>

    So are learned positions looked up, and their gradients: kernels read them in place, nothing is
    added in memory. Left alone are positions of which one might be out of range, which is an error.
    """

    name = "slice-gathers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


@dataclass(frozen=True)
class _Counted:
    """An index whose elements count from `start` along its dimension `dim`, and repeat along all others."""

    dim: int
    start: int
    size: Expr


def _counted(index: SSAValue) -> _Counted | None:
    """What `index` counts, None where it may be anything else."""
    owner = index.owner
    if isinstance(owner, IotaOp):
        start, step = parse_expr(owner.start.data).constant, parse_expr(owner.step.data).constant
        dim = owner.dim.value.data
        if start is None or start < 0 or step != 1:
            return None
        return _Counted(dim, start, sizes_of(index)[dim])
    if isinstance(owner, AddOp) and (more := splat_of(owner.rhs)) is not None:
        found = _counted(owner.lhs)
        return found and _from(found, found.start + int(more), found.dim)
    if not isinstance(owner, BroadcastOp | ReshapeOp) or (found := _counted(owner.source)) is None:
        return None
    if isinstance(owner, BroadcastOp):
        dim = ints(owner.dims)[found.dim]
        return _from(found, found.start, dim) if sizes_of(index)[dim] == found.size else None
    before = [d for d, size in enumerate(sizes_of(owner.source)) if size != ONE]
    after = [d for d, size in enumerate(sizes_of(index)) if size != ONE]
    if before != [found.dim] or len(after) != 1:
        return None
    return _from(found, found.start, after[0])


def _from(found: _Counted, start: int, dim: int) -> _Counted | None:
    return _Counted(dim, start, found.size) if start >= 0 else None


def _within(found: _Counted, size: Expr) -> bool:
    """Whether all positions are known to be in range."""
    if found.start == 0 and found.size == size:
        return True
    length, limit = found.size.constant, size.constant
    return length is not None and limit is not None and found.start + length <= limit


@dataclass(frozen=True)
class _Place:
    """Where values lie that are read of, or written to, a slice of another tensor."""

    counted: _Counted
    dim: int
    kept: tuple[int, ...]
    """For each dimension of the slice, that of the values."""


def _place(op: GatherOp | ScatterAddOp | ScatterOp, source: SSAValue) -> _Place | None:
    """None, with a remark, where it is no slice."""
    dims, sizes, at = ints(op.dims), sizes_of(source), op.at.value.data
    found = _counted(op.indices[0]) if len(dims) == 1 else None
    if found is None:
        return skip(op, "its positions are not counted one by one")
    if not _within(found, sizes[dims[0]]):
        return skip(op, "some of its positions may be out of range")
    rank = len(sizes_of(op.indices[0]))
    others = [d for d in range(len(sizes)) if d != dims[0]]
    kept = {d: n if n < at else n + rank for n, d in enumerate(others)} | {dims[0]: at + found.dim}
    places = tuple(kept[d] for d in range(len(sizes)))
    if list(places) != sorted(places):
        return skip(op, "its dimensions would be in another order")
    return _Place(found, dims[0], places)


def _slice(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, GatherOp)
    if (place := _place(op, op.source)) is None:
        return None
    sizes = list(sizes_of(op.source))
    sizes[place.dim] = place.counted.size
    starts = [place.counted.start if d == place.dim else 0 for d in range(len(sizes))]
    part = rw.value(SliceOp(op.source, starts, sizes))
    return rw.value(BroadcastOp(part, sizes_of(op.result), place.kept))


def _add(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ScatterAddOp)
    if (place := _place(op, op.target)) is None:
        return None
    sizes = sizes_of(op.values)
    summed = [d for d in range(len(sizes)) if d not in place.kept and sizes[d] != ONE]
    values = rw.value(SumOp(op.values, summed)) if summed else op.values
    return _written(op, rw, place, values, adds=True)


def _replace(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ScatterOp)
    if (place := _place(op, op.target)) is None:
        return None
    sizes = sizes_of(op.values)
    if any(sizes[d] != ONE for d in range(len(sizes)) if d not in place.kept):
        return skip(op, "several values are written to one place")
    return _written(op, rw, place, op.values, adds=False)


def _written(
    op: ScatterAddOp | ScatterOp, rw: Rewrite, place: _Place, values: SSAValue, *, adds: bool
) -> SSAValue | None:
    """The target with one value for each place of the slice."""
    sizes, counted = list(sizes_of(op.target)), place.counted
    rest = sizes[place.dim] - counted.size - counted.start
    whole = counted.start == 0 and rest.constant == 0
    constant = splat_of(op.target)
    if not whole and constant is None:
        return skip(op, "its target is no constant, and it writes to a part of it")
    values = rw.value(ReshapeOp(values, [*_with(sizes, place.dim, counted.size)]))
    if whole:
        return rw.value(AddOp(op.target, values)) if adds else values
    assert constant is not None
    if adds:
        values = rw.value(
            AddOp(rw.value(FullOp(constant, element_type_of(values), sizes_of(values))), values)
        )
    low = _with([as_expr(0)] * len(sizes), place.dim, as_expr(counted.start))
    high = _with([as_expr(0)] * len(sizes), place.dim, rest)
    return rw.value(PadOp(values, low, high, constant))


def _with(sizes: Sequence[Expr], dim: int, size: Expr) -> list[Expr]:
    return [size if d == dim else n for d, n in enumerate(sizes)]


_RULES: Rules = {GatherOp: (_slice,), ScatterAddOp: (_add,), ScatterOp: (_replace,)}
