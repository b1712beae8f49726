"""Layouts that attributes state, of arguments, results and calls."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.ir_access import defined_functions
from tilewright.passes.memory.stated import layout_at_edge, layout_of_result, result_strides

TEXT = """func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: tensor<4x?xf32, #tw.shape<"4, s0">>)
    -> (tensor<4x?xf32, #tw.shape<"4, s0">> {{{first}}}, i64, tensor<2x3xf32>) {{
  %n = arith.constant 1 : i64
  %y = tw.exp %x {{{op}}} : tensor<4x?xf32, #tw.shape<"4, s0">>
  %z = tw.full 1.0 : f32 -> tensor<2x3xf32>
  func.return %y, %n, %z : tensor<4x?xf32, #tw.shape<"4, s0">>, i64, tensor<2x3xf32>
}}"""


def function(first: str = "", op: str = "") -> FuncOp:
    (found,) = defined_functions(parse(TEXT.format(first=first, op=op)))
    return found


def text(strides: object) -> str:
    return ", ".join(map(str, strides)) if isinstance(strides, tuple) else str(strides)


def test_results_are_row_major_where_nothing_is_said() -> None:
    assert [text(s) for s in result_strides(function())] == ["s0, 1", "None", "3, 1"]


def test_results_have_the_strides_that_are_stated() -> None:
    assert [text(s) for s in result_strides(function('tw.strides = "1, 4"'))] == ["1, 4", "None", "3, 1"]


@pytest.mark.parametrize(
    ("attributes", "strides"),
    [
        ("", "s0, 1"),
        ('tw.strides = ["1, 4"]', "1, 4"),
        ("tw.strides = []", "s0, 1"),
        ("tw.strides = [4 : i64]", "s0, 1"),
    ],
)
def test_what_an_op_returns_lies_as_it_says(attributes: str, strides: str) -> None:
    (exp,) = (op for op in function(op=attributes).body.block.ops if op.name == "tw.exp")
    layout = layout_of_result(exp, 0)
    assert text(layout.strides) == strides
    assert text(layout.sizes) == "4, s0"


def test_an_argument_of_which_nothing_is_said() -> None:
    sizes = parse_exprs("2, s0, 5")
    assert text(layout_at_edge(sizes, {}).strides) == "s0*5, 5, 1"
    assert text(layout_at_edge(sizes, {"tw.strides": StringAttr("5, 10, 1")}).strides) == "5, 10, 1"
