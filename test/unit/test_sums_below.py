"""Sums of exponentials below a maximum, and what is none."""

from __future__ import annotations

import pytest
from kernels_harness import kernels_of, module_of

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.passes.kernels.sums_below import but_for_constant, maximum_of, sum_below

MAX = "%m = tk.reduce max %0 over [1] : f32\n"
SUBTRACTED = "%d = arith.subf %0, %s : f32\n"
SUM = "%e = math.exp %d : f32\n%t = tk.reduce add %e over [1] : f32\n"
GUARDED = """%zero = arith.constant 0.0 : f32
%finite = arith.cmpf one, %m, %zero : f32
%s = arith.select %finite, %m, %zero : f32
"""
LOADED = "%s = load y[d0]\n"


def last_sum(text: str) -> ReduceOp:
    tensors = {"x": "f32 4, 6", "y": "f32 4", "w": "f32 6", "q": "f32 4"}
    body = f"%0 = load x[d0, d1]\n{text}store %t, q[d0]"
    (kernel,) = kernels_of(module_of(tensors, [("4, 6", body)], "q"))
    return [op for op in kernel.body.block.ops if isinstance(op, ReduceOp)][-1]


def test_a_sum_below_the_maximum() -> None:
    total = last_sum(MAX + SUBTRACTED.replace("%s", "%m") + SUM)
    found = sum_below(total)
    assert found is not None
    assert found.total is total
    assert isinstance(found.value.owner, LoadOp)
    assert (maximum := maximum_of(found.shift)) is not None
    assert maximum.kind.data == "max"


def test_a_maximum_that_is_guarded_is_one() -> None:
    found = sum_below(last_sum(MAX + GUARDED + SUBTRACTED + SUM))
    assert found is not None
    assert found.shift.name_hint == "s"
    assert but_for_constant(found.shift).name_hint == "m"
    assert maximum_of(found.shift) is but_for_constant(found.shift).owner


def test_what_is_loaded_may_be_a_maximum_or_not() -> None:
    found = sum_below(last_sum(LOADED + SUBTRACTED + SUM))
    assert found is not None
    assert but_for_constant(found.shift) is found.shift
    assert maximum_of(found.shift) is None


def test_a_choice_between_two_values_is_no_guard() -> None:
    chosen = GUARDED.replace("select %finite, %m, %zero", "select %finite, %m, %other")
    found = sum_below(last_sum(MAX + LOADED.replace("%s", "%other") + chosen + SUBTRACTED + SUM))
    assert found is not None
    assert maximum_of(found.shift) is None


OTHERS = {
    "a product": LOADED + SUBTRACTED + SUM.replace("add", "mul"),
    "a sum of differences": LOADED + SUBTRACTED + "%t = tk.reduce add %d over [1] : f32\n",
    "a sum of exponentials of what is not shifted": SUM.replace("%d", "%0"),
    "below what varies along the sum": LOADED.replace("y[d0]", "w[d1]") + SUBTRACTED + SUM,
    "powers of another base": LOADED + SUBTRACTED + SUM.replace("math.exp ", "math.exp2 "),
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_such_sum(text: str) -> None:
    assert sum_below(last_sum(text)) is None


def test_what_does_not_reduce_is_none() -> None:
    total = last_sum(LOADED + SUBTRACTED + SUM)
    exponential = total.value.owner
    assert not isinstance(exponential, ReduceOp)
    assert sum_below(exponential) is None  # pyright: ignore[reportArgumentType]
