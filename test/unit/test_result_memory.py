"""What attributes say of the memory of results: which share it, and in which order it lies."""

from __future__ import annotations

from tk_harness import parse
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64

from tilewright.dialects.ir_access import defined_functions
from tilewright.passes.memory.result_memory import (
    MEMORY,
    ORDER,
    attributes_of,
    memory_of,
    order_of,
    result_attributes,
)

TEXT = """func.func @main(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>)
    -> (tensor<4x5xf32> {tw.memory = 3 : i64, tw.order = array<i64: 1, 0>}, tensor<4x5xf32>) {
  func.return %x, %y : tensor<4x5xf32>, tensor<4x5xf32>
}"""


def test_what_is_said_of_the_memory_of_results() -> None:
    (function,) = defined_functions(parse(TEXT))
    first, *others = result_attributes(function)
    assert (memory_of(first), order_of(first)) == (3, (1, 0))
    assert [(memory_of(attrs), order_of(attrs)) for attrs in others] == [(None, None)]
    assert attributes_of(None, 2) == [{}, {}]


def test_attributes_of_another_kind_say_nothing() -> None:
    assert memory_of({MEMORY: StringAttr("3")}) is None
    assert order_of({ORDER: IntegerAttr(1, i64)}) is None
    assert order_of({ORDER: DenseArrayBase.from_list(i64, [])}) == ()
