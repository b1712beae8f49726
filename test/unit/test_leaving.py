"""Values leave a plan as memory that the caller may have, or as copies: never as what others may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from layout_text import WHOLE, layout_of, place_of, text_of
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, SSAValue

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.th.memory import EmptyOp, ViewOp
from tilewright.passes.host.leaving import value_of, views_of_copies
from tilewright.passes.host.plan_builder import PlanBuilder
from tilewright.passes.host.storage import Kind, Place


def leave(place: Place, wanted: str, *, may_alias: bool = True) -> tuple[PlanBuilder, SSAValue]:
    plan = PlanBuilder(Block(), UnknownLoc())
    return plan, value_of(plan, place, parse_exprs(wanted), may_alias=may_alias)


@pytest.mark.parametrize("kind", ["argument", "result", "call"])
def test_what_is_whole_leaves_itself(kind: Kind) -> None:
    place = place_of(kind)
    plan, value = leave(place, "5, 1")
    assert value is (place.storage.handle or place.storage.buffer)
    assert not plan.block.ops


def test_a_tensor_leaves_before_its_numbers() -> None:
    place = place_of("call")
    PlanBuilder(Block(), UnknownLoc()).buffer_of(place.storage)
    assert leave(place, "5, 1")[1] is place.storage.handle


VIEWS = {
    # what it is, the strides that are wanted, the view
    "a part": ("3, 2 at 1 by 5, 1", "5, 1", "3, 2 at 1 by 5, 1"),
    "turned": ("5, 3 at 0 by 1, 5", "1, 5", "5, 3 at 0 by 1, 5"),
    "of one element along a dim": ("3, 1 at 2 by 5, 1", "5, 7", "3, 1 at 2 by 5, 7"),
    "empty": ("0, 5 at 0 by 5, 1", "9, 9", "0, 5 at 0 by 9, 9"),
    "repeated": ("3, 5 at 5 by 0, 1", "0, 1", "3, 5 at 5 by 0, 1"),
    "repeated otherwise than is wanted": ("3, 5 at 5 by 0, 1", "5, 0", "3, 5 at 5 by 0, 1"),
}


@pytest.mark.parametrize("kind", ["argument", "result", "call"])
@pytest.mark.parametrize(("layout", "wanted", "shown"), VIEWS.values(), ids=VIEWS)
def test_a_part_leaves_as_a_view(kind: Kind, layout: str, wanted: str, shown: str) -> None:
    place = place_of(kind, layout)
    plan, value = leave(place, wanted)
    (view,) = plan.block.ops
    assert isinstance(view, ViewOp)
    assert value is view.result
    assert view.source is (place.storage.handle or place.storage.buffer)
    assert f"{view.sizes.data} at {view.offset.data} by {view.strides.data}" == shown


COPIES: Mapping[str, tuple[Kind, str, str, bool, str]] = {
    # whose memory, what it is, the strides that are wanted, whether it may be had; those of the copy
    "of what nobody else may have": ("result", WHOLE, "5, 1", False, "5, 1"),
    "of an argument that is written": ("argument", "3, 2 at 1 by 5, 1", "5, 1", False, "5, 1"),
    "of a temporary": ("temporary", WHOLE, "5, 1", True, "5, 1"),
    "of a constant": ("constant", WHOLE, "5, 1", True, "5, 1"),
    "with other strides": ("argument", WHOLE, "1, 3", True, "1, 3"),
    "of what is repeated": ("argument", "3, 5 at 5 by 0, 1", "5, 1", True, "5, 1"),
    "of a temporary that is repeated": ("temporary", "3, 5 at 5 by 0, 1", "0, 1", True, "5, 1"),
    "of what is walked backwards": ("argument", "3, 5 at 10 by -5, 1", "5, 1", True, "5, 1"),
    "of what is repeated backwards": ("argument", "3, 5 at 4 by 0, -1", "0, 1", True, "5, 1"),
}


@pytest.mark.parametrize(("kind", "layout", "wanted", "may_alias", "strides"), COPIES.values(), ids=COPIES)
def test_a_copy_leaves(kind: Kind, layout: str, wanted: str, may_alias: bool, strides: str) -> None:
    place = place_of(kind, layout)
    plan, value = leave(place, wanted, may_alias=may_alias)
    made, launch = plan.block.ops
    assert isinstance(made, EmptyOp)
    assert isinstance(launch, LaunchOp)
    assert value is made.result
    assert [*launch.ins, *launch.outs] == [place.storage.buffer, value]
    assert (made.sizes.data, made.strides.data) == ("3, 2" if "3, 2" in layout else "3, 5", strides)


def test_a_copy_of_what_a_call_made_reads_its_numbers() -> None:
    place = place_of("call")
    plan, value = leave(place, "1, 3")
    assert [op.name for op in plan.block.ops] == ["th.empty", "th.data", "th.launch"]
    launch = plan.block.last_op
    assert isinstance(launch, LaunchOp)
    assert [*launch.ins, *launch.outs] == [place.storage.buffer, value]


Group = Sequence[tuple[str, str, int | None]]
"""Of results: what they are of one memory, the strides that are wanted, the number of what they share."""


def shared(
    group: Group, kind: Kind = "argument", memory_of: str = WHOLE
) -> tuple[PlanBuilder, Place, dict[int, Place]]:
    plan, whole = PlanBuilder(Block(), UnknownLoc()), place_of(kind, whole=memory_of)
    places = {i: Place(whole.storage, layout_of(layout)) for i, (layout, _, _) in enumerate(group)}
    memory = [number for _, _, number in group]
    return plan, whole, views_of_copies(plan, places, memory, [parse_exprs(wanted) for _, wanted, _ in group])


TOP, TURNED = "1, 5 at 0 by 5, 1", "5, 3 at 0 by 1, 5"
TOGETHER: Mapping[str, Group] = {
    "whole, and a part": [(WHOLE, "5, 1", 0), (TOP, "5, 1", 0)],
    "turned, and a part": [(TURNED, "1, 5", 0), (TOP, "5, 1", 0)],
    "parts that are half of it": [("2, 2 at 0 by 5, 1", "5, 1", 0), ("2, 2 at 6 by 5, 1", "5, 1", 0)],
    "the same rows twice": [("4 at 0 by 1", "1", 0), ("4 at 0 by 1", "1", 0)],
    "whole, and repeated": [(WHOLE, "5, 1", 0), ("3, 5 at 5 by 0, 1", "0, 1", 0)],
}
ALONE: Mapping[str, Group] = {
    "one": [(WHOLE, "5, 1", 0)],
    "of two memories": [(WHOLE, "5, 1", 0), (TOP, "5, 1", 1)],
    "of no memory": [(WHOLE, "5, 1", None), (TOP, "5, 1", None)],
    "a small part": [(TOP, "5, 1", 0), ("1, 2 at 5 by 5, 1", "5, 1", 0)],
    "with other strides": [(WHOLE, "5, 1", 0), (TURNED, "3, 1", 0)],
    "walked backwards": [(WHOLE, "5, 1", 0), ("3, 5 at 10 by -5, 1", "-5, 1", 0)],
}


@pytest.mark.parametrize("kind", ["argument", "constant"])
@pytest.mark.parametrize("group", TOGETHER.values(), ids=TOGETHER)
def test_results_that_share_memory_are_views_of_one_copy(group: Group, kind: Kind) -> None:
    plan, whole, found = shared(group, kind)
    made, launch = plan.block.ops
    assert isinstance(made, EmptyOp)
    assert isinstance(launch, LaunchOp)
    assert (made.sizes.data, made.strides.data) == ("15", "1")
    assert [*launch.ins, *launch.outs] == [whole.storage.buffer, made.result]
    assert {place.storage.kind for place in found.values()} == {"result"}
    assert [place.storage.buffer for place in found.values()] == [made.result] * len(group)
    assert [text_of(found[i].layout) for i in range(len(group))] == [layout for layout, _, _ in group]


@pytest.mark.parametrize("group", ALONE.values(), ids=ALONE)
def test_other_results_are_copied_one_by_one(group: Group) -> None:
    plan, _, found = shared(group)
    assert not found
    assert not plan.block.ops


@pytest.mark.parametrize("kind", ["temporary", "result", "call"])
def test_what_is_no_argument_is_not_copied(kind: Kind) -> None:
    assert not shared(TOGETHER["whole, and a part"], kind)[2]


def test_copies_are_made_of_each_memory() -> None:
    plan, one, other = PlanBuilder(Block(), UnknownLoc()), place_of("argument"), place_of("argument")
    places = dict(enumerate((one, other, one, other)))
    found = views_of_copies(plan, places, [0, 0, 0, 0], [parse_exprs("5, 1")] * 4)
    assert sorted(found) == [0, 1, 2, 3]
    assert found[0].storage is found[2].storage
    assert found[1].storage is found[3].storage
    assert found[0].storage is not found[1].storage


def test_a_whole_argument_is_copied_with_its_gaps() -> None:
    sparse, part = "3, 2 at 0 by 10, 1", "1, 2 at 0 by 10, 1"
    assert sorted(shared([(sparse, "10, 1", 0), (part, "10, 1", 0)], memory_of=sparse)[2]) == [0, 1]
    assert not shared([(part, "10, 1", 0), (part, "10, 1", 0)], memory_of=sparse)[2]
