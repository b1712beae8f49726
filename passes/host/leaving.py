"""How a value leaves a plan: as what was computed, an argument, a view of one of these, or a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Expr, is_nonnegative, product, row_major_strides

from ..memory.layouts import Layout, overlaps_itself, same_strides
from .plan_builder import PlanBuilder
from .storage import Place, Storage


def views_of_copies(
    plan: PlanBuilder,
    places: Mapping[int, Place],
    memory: Sequence[int | None],
    strides: Sequence[tuple[Expr, ...]],
) -> dict[int, Place]:
    """Several results of one number that are most of an argument or constant, as views of one copy of it."""
    groups: dict[tuple[int, Storage], list[int]] = {}
    for i, place in places.items():
        if (number := memory[i]) is not None and place.storage.kind in ("argument", "constant"):
            groups.setdefault((number, place.storage), []).append(i)
    found: dict[int, Place] = {}
    for (_, storage), group in groups.items():
        used = sum((product(places[i].layout.sizes) for i in group), start=ZERO)
        most = any(places[i].is_whole for i in group) or is_nonnegative(2 * used - storage.size)
        if len(group) > 1 and most and all(_fits(places[i].layout, strides[i]) for i in group):
            copy = plan.result(storage.element, (storage.size,), (ONE,))
            plan.copy(Place(storage, copy.layout), copy)
            found |= {i: Place(copy.storage, places[i].layout) for i in group}
    return found


def _fits(layout: Layout, wanted: tuple[Expr, ...]) -> bool:
    """Whether torch can have such a view, with the strides that are wanted where these matter."""
    repeats = overlaps_itself(layout.sizes, wanted)
    return (repeats or same_strides(layout.sizes, layout.strides, wanted)) and not layout.has_negative_stride


def value_of(plan: PlanBuilder, place: Place, wanted: tuple[Expr, ...], *, may_alias: bool) -> SSAValue:
    """`place` as a value to return: itself, a view, or a copy where aliasing is not possible."""
    storage, layout = place.storage, place.layout
    repeats = overlaps_itself(layout.sizes, wanted)
    lasting = storage.kind in ("argument", "result", "call") and may_alias
    if lasting and _fits(layout, wanted):
        if not place.is_whole:
            # Strides along dimensions of size 1 say nothing, but eager's are what a caller sees.
            exact = layout if repeats else replace(layout, strides=wanted)
            return plan.handle_of(Place(storage, exact))
        value = storage.handle or storage.buffer
        assert value is not None
        return value
    strides = row_major_strides(layout.sizes) if repeats else wanted
    target = plan.result(storage.element, layout.sizes, strides)
    plan.copy(place, target)
    value = target.storage.buffer
    assert value is not None
    return value
