"""slice-gathers: what is gathered or scattered at positions that are counted is a slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr, as_expr
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp, MaximumOp, MinimumOp, MulOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterAddOp, ScatterOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, PadOp, ReshapeOp, ReverseOp, SliceOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .counted_positions import Counted, counted
from .listed_positions import Clamped, Run, clamped, listed, runs
from .repeated_rows import repeat_rows
from .splats import splat_of

_MOST = 4
"""Slices that stand for what is gathered or scattered at positions that are known numbers."""


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
    added in memory. What follows from counted positions and is four slices at most is those, one behind the
    other: of `(i + 1) % 3`, that a cross product reads, elements 1 and 2, then 0. Those in steps of two, say,
    that only meet the ends, as where the gradient of a resized image is looked for, are computed instead.
    Where each is gathered so many times in turn, as images are resized, it is repeated: `tw.broadcast`.
    Left alone are positions of which one might be out of range, which is an error.
    """

    name = "slice-gathers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _within(found: Counted, size: Expr) -> bool:
    """Whether all positions are known to be in range."""
    if found.start == 0 and found.size == size:
        return True
    length, limit = found.size.constant, size.constant
    return length is not None and limit is not None and found.start + length <= limit


@dataclass(frozen=True)
class _Place:
    """Where values lie that are read of, or written to, a slice of another tensor."""

    counted: Counted
    dim: int
    kept: tuple[int, ...]
    """For each dimension of the slice, that of the values."""


def _place(op: GatherOp | ScatterAddOp | ScatterOp, source: SSAValue) -> _Place | None:
    """None, with a remark, where it is no slice."""
    dims, sizes = ints(op.dims), sizes_of(source)
    found = counted(op.indices[0]) if len(dims) == 1 else None
    if found is None:
        known = len(dims) == 1 and listed(op.indices[0]) is not None
        return None if known else skip(op, "its positions are not counted one by one")
    if not _within(found, sizes[dims[0]]):
        return skip(op, "some of its positions may be out of range")
    return _placed(op, source, found)


def _placed(op: GatherOp | ScatterAddOp | ScatterOp, source: SSAValue, found: Counted) -> _Place | None:
    dims, sizes, at = ints(op.dims), sizes_of(source), op.at.value.data
    rank = len(sizes_of(op.indices[0]))
    others = [d for d in range(len(sizes)) if d != dims[0]]
    kept = {d: n if n < at else n + rank for n, d in enumerate(others)} | {dims[0]: at + found.dim}
    places = tuple(kept[d] for d in range(len(sizes)))
    if list(places) != sorted(places):
        return skip(op, "its dimensions would be in another order")
    return _Place(found, dims[0], places)


def _few_runs(op: GatherOp | ScatterAddOp, source: SSAValue) -> tuple[_Place, tuple[int, ...]] | None:
    """Positions that are known numbers in range, not counted one by one, and where their values lie."""
    dims = ints(op.dims)
    if len(dims) != 1 or counted(op.indices[0]) is not None or (found := listed(op.indices[0])) is None:
        return None
    limit = sizes_of(source)[dims[0]].constant
    if limit is None:
        return None
    places = tuple(place + limit if place < 0 and op.strict is None else place for place in found.places)
    if not all(0 <= place < limit for place in places):
        return skip(op, "some of its positions are out of range")
    if len(set(places)) < len(places):
        return skip(op, "some of its positions are one")
    place = _placed(op, source, Counted(found.dim, 0, as_expr(len(places))))
    return None if place is None else (place, places)


def _joined(parts: Sequence[SSAValue], dim: int, rw: Rewrite) -> SSAValue:
    return parts[0] if len(parts) == 1 else rw.value(ConcatOp(parts, dim))


def _run_of(source: SSAValue, dim: int, run: Run, rw: Rewrite) -> SSAValue:
    sizes = _with(sizes_of(source), dim, as_expr(run.length))
    starts, steps = [0] * len(sizes), [1] * len(sizes)
    starts[dim], steps[dim] = run.lowest, abs(run.step)
    part = rw.value(SliceOp(source, starts, sizes, steps))
    return rw.value(ReverseOp(part, [dim])) if run.step < 0 else part


def _slices(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A few runs of positions that are known numbers."""
    assert isinstance(op, GatherOp)
    if (found := _few_runs(op, op.source)) is None:
        return None
    place, places = found
    if len(parts := runs(places)) > 1 and (ends := clamped(places)) is not None:
        return _at_clamped(op, place, ends, rw)
    if len(parts) > _MOST:
        return skip(op, f"its positions are more than {_MOST} slices")
    whole = _joined([_run_of(op.source, place.dim, run, rw) for run in parts], place.dim, rw)
    return rw.value(BroadcastOp(whole, sizes_of(op.result), place.kept))


def _at_clamped(op: GatherOp, place: _Place, found: Clamped, rw: Rewrite) -> SSAValue | None:
    """One load at positions that are computed, instead of a slice between the ends and one at each end."""
    (index,) = op.indices
    if isinstance(index.owner, MaximumOp):
        return skip(op, "its positions are counted in steps up to a limit")
    count = place.counted.size

    def number(value: int) -> SSAValue:
        return rw.value(FullOp(value, i64, [count]))

    steps = rw.value(MulOp(rw.value(IotaOp(i64, [count])), number(found.step)))
    steps = rw.value(AddOp(steps, number(found.first)))
    places = rw.value(MaximumOp(rw.value(MinimumOp(steps, number(found.high))), number(found.low)))
    whole = rw.value(GatherOp(op.source, [places], [place.dim], place.dim, strict=True))
    return rw.value(BroadcastOp(whole, sizes_of(op.result), place.kept))


def _add_slices(op: Operation, rw: Rewrite) -> SSAValue | None:
    """What comes to each place, where that is a few runs of values, and of what adds nothing between them."""
    assert isinstance(op, ScatterAddOp)
    if (found := _few_runs(op, op.target)) is None:
        return None
    place, places = found
    sizes, dim = sizes_of(op.target), place.dim
    comes = {to: number for number, to in enumerate(places)}
    limit = sizes[dim].constant
    assert limit is not None
    parts: list[Run | int] = []
    for there, group in groupby(range(limit), comes.__contains__):
        numbers = list(group)
        parts += runs([comes[to] for to in numbers]) if there else [len(numbers)]
    if len(parts) > _MOST:
        return skip(op, f"its positions are more than {_MOST} slices")
    values = rw.value(ReshapeOp(_summed(op, place, rw), _with(sizes, dim, place.counted.size)))
    element = element_type_of(values)
    nothing = -0.0 if is_float(element) else 0  # -0.0 + 0.0 would be 0.0
    written = [
        _run_of(values, dim, part, rw)
        if isinstance(part, Run)
        else rw.value(FullOp(nothing, element, _with(sizes, dim, as_expr(part))))
        for part in parts
    ]
    return rw.value(AddOp(op.target, _joined(written, dim, rw)))


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
    return _written(op, rw, place, _summed(op, place, rw), adds=True)


def _summed(op: ScatterAddOp, place: _Place, rw: Rewrite) -> SSAValue:
    """One value for each place of the slice: those that come to one place are added up."""
    sizes = sizes_of(op.values)
    summed = [d for d in range(len(sizes)) if d not in place.kept and sizes[d] != ONE]
    return rw.value(SumOp(op.values, summed)) if summed else op.values


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
    sizes, found = list(sizes_of(op.target)), place.counted
    rest = sizes[place.dim] - found.size - found.start
    whole = found.start == 0 and rest.constant == 0
    constant = splat_of(op.target)
    if not whole and constant is None:
        return skip(op, "its target is no constant, and it writes to a part of it")
    values = rw.value(ReshapeOp(values, [*_with(sizes, place.dim, found.size)]))
    if whole:
        return rw.value(AddOp(op.target, values)) if adds else values
    assert constant is not None
    if adds:
        values = rw.value(
            AddOp(rw.value(FullOp(constant, element_type_of(values), sizes_of(values))), values)
        )
    low = _with([as_expr(0)] * len(sizes), place.dim, as_expr(found.start))
    high = _with([as_expr(0)] * len(sizes), place.dim, rest)
    return rw.value(PadOp(values, low, high, constant))


def _with(sizes: Sequence[Expr], dim: int, size: Expr) -> list[Expr]:
    return [size if d == dim else n for d, n in enumerate(sizes)]


_RULES: Rules = {
    GatherOp: (repeat_rows, _slices, _slice),
    ScatterAddOp: (_add_slices, _add),
    ScatterOp: (_replace,),
}
