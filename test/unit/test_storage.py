"""A value is the tensor that owns its memory, or a view; what an op makes lies as it says, or in rows."""

from __future__ import annotations

import pytest
from layout_text import layout_of, text_of
from tk_harness import parse
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp

from tilewright.dialects.index_expr import parse_expr
from tilewright.passes.host.storage import Place, Storage
from tilewright.passes.memory.stated import layout_of_result

WHOLE = "3, 5 at 0 by 5, 1"


@pytest.mark.parametrize(
    ("layout", "whole"),
    [
        (WHOLE, True),
        ("5, 3 at 0 by 1, 5", False),
        ("3, 5 at 0 by 1, 3", False),
        ("3, 5 at 1 by 5, 1", False),
        ("3, 2 at 0 by 5, 1", False),
        ("1, 5 at 5 by 5, 1", False),
        ("3, 5, 1 at 0 by 5, 1, 1", False),
    ],
)
def test_whole_is_what_has_the_layout_of_the_owner(layout: str, whole: bool) -> None:
    storage = Storage("argument", f32, layout_of(WHOLE), parse_expr("15"))
    assert Place(storage, layout_of(layout)).is_whole == whole


def test_equal_memory_is_not_the_same() -> None:
    one, other = (Storage("temporary", f32, layout_of(WHOLE), parse_expr("15")) for _ in range(2))
    assert one != other
    assert len({one, other, one}) == 2


TWO = "(tensor<3x5xf32>, tensor<3x5xi64>)"
STATED = {
    "of all results": ('tw.strides = ["1, 3", "10, 2"]', ["1, 3", "10, 2"]),
    "of the first one": ('tw.strides = ["1, 3"]', ["1, 3", "5, 1"]),
    "of none": ("tw.strides = []", ["5, 1", "5, 1"]),
    "nowhere": ("", ["5, 1", "5, 1"]),
    "otherwise": ('tw.strides = "1, 3"', ["5, 1", "5, 1"]),
}


@pytest.mark.parametrize(("note", "strides"), STATED.values(), ids=STATED)
def test_results_lie_as_the_op_says(note: str, strides: list[str]) -> None:
    comma = ", " if note else ""
    module = parse(f"""func.func @main(%x: tensor<3x5xf32>) -> {TWO} {{
      %v, %i = tw.aten "aten::cummax"(%x) {{args = [#tw.arg<0>, 0 : i64]{comma}{note}}}
        : (tensor<3x5xf32>) -> {TWO}
      func.return %v, %i : {TWO[1:-1]}
    }}""")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    op = function.body.block.first_op
    assert op is not None
    assert [text_of(layout_of_result(op, index)) for index in range(2)] == [
        f"3, 5 at 0 by {text}" for text in strides
    ]


def test_strides_may_be_of_the_run() -> None:
    type_ = 'tensor<?x5xf32, #tw.shape<"s0, 5">>'
    (function,) = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {type_}) -> {type_} {{
      %v = tw.exp %x {{tw.strides = ["1, s0"]}} : {type_}
      func.return %v : {type_}
    }}""").ops
    assert isinstance(function, FuncOp)
    op = function.body.block.first_op
    assert op is not None
    assert text_of(layout_of_result(op, 0)) == "s0, 5 at 0 by 1, s0"
