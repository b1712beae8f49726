"""Literals that are kept as data: short and finite ones, of which libraries alone read and none writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.arrays import Array
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tw.creation import ConstantOp
from tilewright.passes.lowering.literal_operands import is_data, keep_as_data
from tilewright.passes.rewrite import counting_rewrites

CALL = '%w = tw.aten "aten::cumprod"(%v) {args = [#tw.arg<0>, 0 : i64]} : ({v}) -> {v}'


def module_of(literal: str, type_: str, readers: str = CALL) -> tuple[ModuleOp, Operation]:
    """`%v` is a literal of that type and is read by these; what makes it."""
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}) -> {type_} {{
      %v = {literal} {type_} loc("model.py":3:1)
      {readers.replace("{v}", type_)}
      func.return %w : {type_}
    }}""")
    return module, next(op for op in module.walk() if op.results and op.results[0].name_hint == "v")


def run(module: ModuleOp) -> np.ndarray:
    """What the call is given."""

    def given(op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
        return operands

    (result,) = interpret(module, [3], np, aten=given)
    return result


DATA = {
    "floats": ("tw.full 2.5 : f32 ->", "tensor<3xf32>"),
    "halves": ("tw.full 2.5 : bf16 ->", "tensor<3xbf16>"),
    "integers": ("tw.full -7 : i64 ->", "tensor<2x1xi64>"),
    "booleans": ("tw.full true ->", "tensor<2xi1>"),
    "an expression of no symbol": ('tw.full "4" ->', "tensor<2xi64>"),
    "one number": ("tw.full 2.5 : f32 ->", "tensor<f32>"),
    "as many as may be": ("tw.full 2.5 : f32 ->", "tensor<8x8xf32>"),
}


@pytest.mark.parametrize(("literal", "type_"), DATA.values(), ids=DATA)
def test_short_literals_become_data(literal: str, type_: str) -> None:
    module, op = module_of(literal, type_)
    before, location = run(module), op.location
    assert is_data(op)
    keep_as_data(op)
    module.verify()
    made, *others = (op for op in module.walk() if op.name.startswith("tw."))
    assert isinstance(made, ConstantOp)
    assert [op.name for op in others] == ["tw.aten"]
    assert (made.location, made.result.name_hint, str(made.result.type)) == (location, "v", type_)
    np.testing.assert_array_equal(run(module), before)
    assert run(module).dtype == before.dtype


def test_all_readers_read_the_data() -> None:
    module, op = module_of("tw.full 2.5 : f32 ->", "tensor<3xf32>", CALL.replace("%w", "%u") + "\n" + CALL)
    assert is_data(op)
    keep_as_data(op)
    module.verify()
    first, second = (op for op in module.walk() if op.name == "tw.aten")
    assert isinstance(first.operands[0].owner, ConstantOp)
    assert first.operands[0] is second.operands[0]


OTHER = {
    "of one more than may be": ("tw.full 2.5 : f32 ->", "tensor<5x13xf32>"),
    "of none": ("tw.full 2.5 : f32 ->", "tensor<0x3xf32>"),
    "of a number that only the run knows": ("tw.full 2.5 : f32 ->", 'tensor<?xf32, #tw.shape<"s0">>'),
    "of what only the run knows": ('tw.full "s0" ->', "tensor<3xi64>"),
    "infinite": ("tw.full 0xff800000 : f32 ->", "tensor<3xf32>"),
    "no number": ("tw.full 0x7fc00000 : f32 ->", "tensor<3xf32>"),
    "no literal": ('tw.iota dim 0 start "0" step "1" ->', "tensor<3xi64>"),
}


@pytest.mark.parametrize(("literal", "type_"), OTHER.values(), ids=OTHER)
def test_other_values_are_computed(literal: str, type_: str) -> None:
    assert not is_data(module_of(literal, type_)[1])


READERS = {
    "nobody": '%w = tw.full 1.0 : f32 -> {v}\ntw.aten "aten::show"(%w) {args = [#tw.arg<0>]} : ({v}) -> ()',
    "what is no call": "%w = tw.exp %v : {v}",
    "what is no call, too": CALL.replace("%w", "%u") + "\n%w = tw.exp %v : {v}",
    "what writes to it": (
        CALL + '\ntw.aten "aten::neg_"(%v) {args = [#tw.arg<0>], mutates = array<i64: 0>} : ({v}) -> ()'
    ),
}


@pytest.mark.parametrize("literal", ["tw.full 2.5 : f32 ->", "tw.constant dense<2.5> :"])
@pytest.mark.parametrize("readers", READERS.values(), ids=READERS)
def test_what_others_read_is_computed(readers: str, literal: str) -> None:
    assert not is_data(module_of(literal, "tensor<3xf32>", readers)[1])


def test_constants_stay() -> None:
    module, op = module_of("tw.constant dense<2.5> :", "tensor<65xf32>")
    text = str(module)
    assert is_data(op)
    with counting_rewrites() as count:
        keep_as_data(op)
    assert (str(module), count.done) == (text, 0)


def test_literals_stay_where_no_rewrite_is_left() -> None:
    module, op = module_of("tw.full 2.5 : f32 ->", "tensor<3xf32>")
    text = str(module)
    with counting_rewrites(1) as count:
        keep_as_data(module_of("tw.full 2.5 : f32 ->", "tensor<3xf32>")[1])
        keep_as_data(op)
    assert (str(module), count.done) == (text, 1)
