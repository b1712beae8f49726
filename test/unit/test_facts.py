"""What ops of a kernel need, and in which order its loops may stand."""

from __future__ import annotations

import pytest
from kernels_harness import kernels_of, module_of

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.passes.kernels.facts import Body, arranged

TENSORS = {"x": "f32 4, 6", "y": "f32 4", "p": "f32 4, 6", "q": "f32 4"}
SUM = """%0 = load x[d0, d1]
%1 = tk.reduce add %0 over [1] : f32
store %1, q[d0]"""
CENTRED = """%0 = load x[d0, d1]
%1 = tk.reduce add %0 over [1] : f32
%2 = arith.subf %0, %1 : f32
store %2, p[d0, d1]"""


def body_of(text: str, returned: str, *, tiles: tuple[tuple[int, int], ...] = ()) -> Body:
    module = module_of(TENSORS, [("4, 6", text)], returned)
    (kernel,) = kernels_of(module)
    return Body.of(kernel.body.block, tiles, rank=2)


def test_axes_of_a_sum() -> None:
    body = body_of(SUM, "q")
    load, total, store = body.ops
    assert [body.position[op] for op in body.ops] == [0, 1, 2]
    assert body.runs == {load: {0, 1}, total: {0, 1}, store: {0}}
    assert body.domains[load.results[0]] == {0, 1}
    assert body.domains[total.results[0]] == {0}
    assert body.over == {total: {1}}
    assert body.sinks() == [store]


def test_a_tile_adds_its_axis_to_what_runs_over_the_axis_it_is_of() -> None:
    body = body_of(SUM, "q", tiles=((1, 8),))
    load, total, store = body.ops
    assert body.runs == {load: {0, 1, 2}, total: {0, 1, 2}, store: {0}}
    assert body.over == {total: {1, 2}}
    assert body.domains[total.results[0]] == {0}


def test_what_sinks_need_stands_in_order_and_without_what_is_known() -> None:
    body = body_of(CENTRED, "p")
    load, total, less, store = body.ops
    assert body.closure([store], ()) == [load, total, less, store]
    assert body.closure([store], {total.results[0]}) == [load, less, store]
    assert body.closure([store], {less.results[0]}) == [store]
    assert body.closure([total, load], ()) == [load, total]
    assert body.closure([], ()) == []


def test_what_is_summed_stands_inside_of_the_loop_of_its_result() -> None:
    body = body_of(SUM, "q")
    assert arranged(body, (1, 0), body.ops) == (0, 1)
    assert arranged(body, (0, 1), body.ops) == (0, 1)


def test_loops_that_nothing_uses_are_left_out() -> None:
    body = body_of(SUM, "q")
    (store,) = (op for op in body.ops if isinstance(op, StoreOp))
    assert arranged(body, (1, 0), [store]) == (0,)


OPPOSITE = """%0 = load x[d0, d1]
%1 = tk.reduce add %0 over [1] : f32
%2 = tk.reduce add %0 over [0] : f32
store %1, q[d0]
store %2, r[d1]"""


@pytest.mark.parametrize("arrays", [False, True])
def test_sums_over_each_other_have_no_order_unless_one_fills_an_array(arrays: bool) -> None:
    module = module_of({**TENSORS, "r": "f32 6"}, [("4, 6", OPPOSITE)], "q r")
    (kernel,) = kernels_of(module)
    body = Body.of(kernel.body.block, arrays=arrays)
    assert (arranged(body, (0, 1), body.ops) is None) is not arrays
    first = [op for op in body.ops if isinstance(op, ReduceOp | LoadOp)][:2]
    assert arranged(body, (1, 0), first) == ((1, 0) if arrays else (0, 1))


def test_what_is_scanned_stands_inside() -> None:
    body = body_of("%0 = load x[d0, d1]\n%1 = tk.scan add %0 along 0 : f32\nstore %1, p[d0, d1]", "p")
    assert arranged(body, (0, 1), body.ops) == (1, 0)
