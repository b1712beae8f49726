"""Memory, handles and copies of a plan: made where they are first needed, once, and as large as need be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from layout_text import WHOLE, layout_of, place_of, text_of
from tk_harness import parse, run_on
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, IntAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.builtin import TensorType as Tensor
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.index_expr import Var, parse_exprs
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.th.memory import AllocOp, ConstantOp, DataOp, EmptyOp, ViewOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import flat_memref
from tilewright.passes.host.plan_builder import PlanBuilder
from tilewright.passes.host.storage import Kind, Place

HERE = FileLineColLoc(StringAttr("m.py"), IntAttr(3), IntAttr(1))


def plan() -> PlanBuilder:
    return PlanBuilder(Block(), HERE)


def names(plan: PlanBuilder) -> list[str]:
    return [op.name for op in plan.block.ops]


def only(plan: PlanBuilder) -> Operation:
    (op,) = plan.block.ops
    assert op.location == HERE
    op.verify()
    return op


# Memory


SIZES: Mapping[str, tuple[str, str]] = {
    "row-major": ("3, 5 at 0 by 5, 1", "15"),
    "in columns": ("3, 5 at 0 by 1, 3", "15"),
    "with gaps": ("3, 5 at 0 by 8, 1", "21"),
    "of no dimension": (" at 0 by ", "1"),
    "empty": ("0, 5 at 0 by 5, 1", "0"),
    "of a size that the run knows": ("s0, 5 at 0 by 5, 1", "max(0, s0*5)"),
}


@pytest.mark.parametrize(("layout", "size"), SIZES.values(), ids=SIZES)
def test_memory_reaches_to_the_last_element(layout: str, size: str) -> None:
    temporary, result = plan(), plan()
    made = temporary.temporary(f32, layout_of(layout))
    alloc = only(temporary)
    assert isinstance(alloc, AllocOp)
    known = {Var("s", 0): 3}
    (wanted,) = parse_exprs(size)
    assert parse_exprs(alloc.size.data)[0].evaluate(known) == wanted.evaluate(known)
    assert (made.storage.kind, made.storage.buffer, made.is_whole) == ("temporary", alloc.result, True)
    assert text_of(made.layout) == layout
    made = result.result(f32, layout_of(layout).sizes, layout_of(layout).strides)
    empty = only(result)
    assert isinstance(empty, EmptyOp)
    assert f"{empty.sizes.data} at 0 by {empty.strides.data}" == layout
    assert (made.storage.kind, made.storage.buffer, made.is_whole) == ("result", empty.result, True)
    assert made.storage.size.evaluate(known) == wanted.evaluate(known)


def test_constants_are_row_major() -> None:
    made = plan()
    value = DenseIntOrFPElementsAttr.from_list(Tensor(f32, [3, 5]), [0.5] * 15)
    place = made.constant(value, parse_exprs("3, 5"))
    constant = only(made)
    assert isinstance(constant, ConstantOp)
    assert constant.value == value
    assert (place.storage.kind, place.storage.buffer) == ("constant", constant.result)
    assert text_of(place.layout) == WHOLE


# Handles


def test_numbers_that_are_there_are_taken() -> None:
    made, place = plan(), place_of("argument")
    assert made.buffer_of(place.storage) is place.storage.buffer
    assert not names(made)


def test_the_numbers_of_a_tensor_are_named_once() -> None:
    made, place = plan(), place_of("call")
    buffer = made.buffer_of(place.storage)
    assert made.buffer_of(place.storage) is buffer
    data = only(made)
    assert isinstance(data, DataOp)
    assert (data.source, data.result, data.size.data) == (place.storage.handle, buffer, "15")


def test_a_whole_tensor_is_its_own_handle() -> None:
    made, place = plan(), place_of("call")
    made.buffer_of(place.storage)
    assert made.handle_of(place) is place.storage.handle
    assert names(made) == ["th.data"]


VIEWED: Mapping[str, tuple[Kind, str]] = {
    "a whole argument": ("argument", WHOLE),
    "a whole temporary": ("temporary", WHOLE),
    "a part of an argument": ("argument", "3, 2 at 1 by 5, 1"),
    "a part of a tensor": ("call", "3, 2 at 1 by 5, 1"),
    "a tensor, turned": ("call", "5, 3 at 0 by 1, 5"),
    "an element": ("call", " at 7 by "),
}


@pytest.mark.parametrize(("kind", "layout"), VIEWED.values(), ids=VIEWED)
def test_a_view_is_made_once(kind: Kind, layout: str) -> None:
    made, place = plan(), place_of(kind, layout)
    handle = made.handle_of(place)
    assert made.handle_of(Place(place.storage, layout_of(layout))) is handle
    view = only(made)
    assert isinstance(view, ViewOp)
    assert (view.result, view.source) == (handle, place.storage.handle or place.storage.buffer)
    assert f"{view.sizes.data} at {view.offset.data} by {view.strides.data}" == layout


def test_views_are_of_a_tensor_before_its_numbers() -> None:
    made, place = plan(), place_of("call", "3, 2 at 1 by 5, 1")
    made.buffer_of(place.storage)
    made.handle_of(place)
    view = made.block.last_op
    assert isinstance(view, ViewOp)
    assert view.source is place.storage.handle


def test_views_of_other_places_are_others() -> None:
    made, place, other = plan(), place_of("argument"), place_of("argument")
    places = [place, Place(place.storage, layout_of("5, 3 at 0 by 1, 5")), other]
    assert len({made.handle_of(p) for p in places}) == 3
    assert names(made) == ["th.view"] * 3


def test_what_is_walked_backwards_is_copied_for_atens_sake() -> None:
    made, place = plan(), place_of("argument", "3, 5 at 10 by -5, 1")
    made.handle_of(place)
    assert names(made) == ["th.alloc", "th.launch", "th.view"]
    _, launch, view = made.block.ops
    assert isinstance(launch, LaunchOp)
    assert isinstance(view, ViewOp)
    assert view.source is launch.outs[0]
    assert f"{view.sizes.data} at {view.offset.data} by {view.strides.data}" == WHOLE


# Copies and launches


SAME: Mapping[str, tuple[str, str]] = {
    "all of it": (WHOLE, WHOLE),
    "a row": ("1, 5 at 5 by 5, 1", "1, 5 at 5 by 9, 1"),
    "nothing": ("0, 5 at 0 by 5, 1", "0, 5 at 0 by 1, 1"),
}


@pytest.mark.parametrize(("source", "target"), SAME.values(), ids=SAME)
def test_what_is_there_is_not_copied(source: str, target: str) -> None:
    made, place = plan(), place_of("argument", source)
    made.copy(place, Place(place.storage, layout_of(target)))
    assert not names(made)
    assert not made.functions


OTHER: Mapping[str, tuple[str, str]] = {
    "all of it": (WHOLE, WHOLE),
    "into columns": (WHOLE, "3, 5 at 0 by 1, 3"),
    "turned": ("5, 3 at 0 by 1, 5", "5, 3 at 0 by 3, 1"),
    "a part": ("2, 2 at 6 by 5, 1", "2, 2 at 3 by 2, 1"),
    "backwards": ("3, 5 at 14 by -5, -1", WHOLE),
    "repeated": ("3, 5 at 5 by 0, 1", WHOLE),
    "of another shape": (WHOLE, "15 at 0 by 1"),
    "an element": (" at 7 by ", " at 2 by "),
}


@pytest.mark.parametrize(("source", "target"), OTHER.values(), ids=OTHER)
def test_elements_are_copied(source: str, target: str) -> None:
    made, one, other = plan(), place_of("argument", source), place_of("temporary", target)
    made.copy(one, other)
    launch = only(made)
    assert isinstance(launch, LaunchOp)
    assert [*launch.ins, *launch.outs] == [one.storage.buffer, other.storage.buffer]
    (function,) = made.functions
    assert function.location == HERE
    buffers = [np.arange(15, dtype=np.float32), np.full(15, -1, np.float32)]
    run_on(ModuleOp([function]), buffers, {})
    wanted = np.full(15, -1, np.float32)
    wanted[places(target)] = np.arange(15)[places(source)]
    np.testing.assert_array_equal(buffers[1], wanted)


def places(layout: str) -> np.ndarray:
    """Of the elements in their order."""
    found = layout_of(layout)
    sizes = [size.evaluate({}) for size in found.sizes]
    where = np.full(sizes, found.offset.evaluate({}))
    for stride, index in zip(found.strides, np.indices(sizes), strict=True):
        where = where + stride.evaluate({}) * index
    return where.ravel()


def test_a_copy_within_memory_is_made() -> None:
    made, place = plan(), place_of("argument")
    made.copy(Place(place.storage, layout_of("5 at 0 by 1")), Place(place.storage, layout_of("5 at 5 by 1")))
    launch = only(made)
    assert isinstance(launch, LaunchOp)
    assert [*launch.ins, *launch.outs] == [place.storage.buffer] * 2


def test_copies_have_names_of_their_own() -> None:
    made = plan()
    for _ in range(2):
        made.copy(place_of("argument"), place_of("temporary"))
    assert [function.sym_name.data for function in made.functions] == ["copy", "copy_1"]
    launches = [op for op in made.block.ops if isinstance(op, LaunchOp)]
    assert [launch.kernel.string_value() for launch in launches] == ["copy", "copy_1"]


def test_what_is_copied_is_row_major() -> None:
    made, place = plan(), place_of("call", "5, 3 at 0 by 1, 5")
    copy = made.copied(place)
    assert names(made) == ["th.alloc", "th.data", "th.launch"]
    assert (copy.storage.kind, text_of(copy.layout), copy.is_whole) == (
        "temporary",
        "5, 3 at 0 by 3, 1",
        True,
    )


def test_a_launch_has_its_buffers_and_symbols() -> None:
    (function,) = parse("""tk.func @rows [s0, s3] (%a: memref<?xf32>, %b: memref<?xf32>, %o: memref<?xf32>)
        symbols [s0, s3] {
      %0 = tk.load %a[d0*s3 + d1] : memref<?xf32> -> f32
      %1 = tk.load %b[d0*s3 + d1] : memref<?xf32> -> f32
      %2 = arith.addf %0, %1 : f32
      tk.store %2, %o[d0*s3 + d1] : f32, memref<?xf32>
    }""").ops
    assert isinstance(function, FuncOp)
    made = plan()
    a, b, o = (create_ssa_value(flat_memref(f32, parse_exprs("s0*s3")[0])) for _ in range(3))
    made.launch(function, [a, b], [o])
    launch = made.block.last_op
    assert isinstance(launch, LaunchOp)
    assert (list[SSAValue](launch.ins), list[SSAValue](launch.outs)) == ([a, b], [o])
    assert [str(symbol) for symbol in launch.symbol_values] == ["s0", "s3"]
    assert made.functions == [function]


def test_a_launch_without_symbols_says_nothing_of_them() -> None:
    made = plan()
    made.copy(place_of("argument"), place_of("temporary"))
    assert "symbols" not in only(made).properties
