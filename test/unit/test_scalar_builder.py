"""Scalar ops written into a body: constants once, comparisons by name, what is stored and computed in."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntAttr, StringAttr, f32, f64, i1, i32
from xdsl.ir import Attribute, Block

from tilewright.dialects.tk.arith import CmpFOp, CmpIOp
from tilewright.dialects.types import ELEMENT_TYPES
from tilewright.passes.kernels.scalar_builder import InsertingBuilder, ScalarBuilder, constant_op, scalar_attr

HERE = FileLineColLoc(StringAttr("m.py"), IntAttr(3), IntAttr(0))
TYPES = {**ELEMENT_TYPES, "index": IndexType()}
VALUES = [(0.1, "f32", "1.000000e-01 : f32"), (3, "f64", "3.000000e+00 : f64"), (2.7, "i64", "2 : i64"),
          (True, "i1", "true"), (-1, "index", "-1 : index"), (255, "i8", "-1 : i8"),
          (1 + 2**-30, "f32", "1.000000e+00 : f32")]  # fmt: skip
STORED = {"f16": ("extf", "truncf"), "bf16": ("extf", "truncf"), "i8": ("extsi", "trunci"),
          "ui8": ("extui", "trunci"), "i1": (), "i32": (), "i64": (), "f32": (), "f64": ()}  # fmt: skip


def builder(*types: Attribute) -> ScalarBuilder:
    return ScalarBuilder(Block(arg_types=types), HERE)


@pytest.mark.parametrize(("value", "type_", "text"), VALUES)
def test_constants_are_of_their_type(value: float, type_: str, text: str) -> None:
    op = constant_op(value, TYPES[type_])
    assert (op.parent, op.results[0].type) == (None, TYPES[type_])
    assert str(scalar_attr(value, TYPES[type_])) == str(op.value) == text


def test_a_constant_is_written_once_for_each_value_and_type() -> None:
    b = builder(i1)
    for value, type_ in ((0.0, f32), (-0.0, f32), (0.0, f64), (float("nan"), f32)):
        assert b.constant(value, type_) is b.constant(value, type_)
    b.invert(b.invert(b.block.args[0]))
    assert [op.name for op in b.block.ops] == ["arith.constant"] * 5 + ["arith.xori"] * 2
    assert {op.location for op in b.block.ops} == {HERE}


def test_results_have_the_type_of_the_first_operand_but_comparisons() -> None:
    b = builder(f32, i32)
    x, n = b.block.args
    less, equal = b.compare_float("olt", x, x), b.compare_int("slt", n, n)
    chosen, added = b.select(less, n, n), b.op(arith.AddfOp, x, x)
    assert [value.type for value in (less, equal, chosen, added)] == [i1, i1, i32, f32]
    for value, kind, number in ((less, CmpFOp, 4), (equal, CmpIOp, 2)):
        assert isinstance(value.owner, kind)
        assert value.owner.predicate.value.data == number
    with pytest.raises(ValueError, match="not in"):
        b.compare_int("olt", n, n)


@pytest.mark.parametrize(("element", "ops"), STORED.items(), ids=STORED)
def test_what_is_stored_is_widened_and_narrowed(element: str, ops: tuple[str, ...]) -> None:
    stored, load = ELEMENT_TYPES[element], ELEMENT_TYPES[element.removeprefix("u")]
    b = builder(load, wide := f32 if ops[:1] == ("extf",) else i32 if ops else load)
    small, large = b.block.args
    assert b.widen(small, stored).type == wide
    assert b.narrow(b.widen(small, stored), stored) is small, "what was widened is there as it was"
    assert b.narrow(large, stored).type == load
    assert [op.name.partition(".")[2] for op in b.block.ops] == [*ops[:1] * 2, *ops[1:]]
    assert (b.wrap(large, stored) is large) == (wide != i32 or not ops)


@pytest.mark.parametrize(("at", "behind"), [(0, False), (0, True), (1, False), (1, True)])
def test_ops_are_inserted_one_after_the_other(at: int, behind: bool) -> None:
    text = "func.func @f(%x: f32) -> f32 {\n%y = math.exp %x : f32\nfunc.return %y : f32\n}"
    (function,) = parse(text).ops
    old = list(function.regions[0].block.ops)
    old[at].location = HERE
    b = InsertingBuilder(old[at], behind=behind)
    new = [b.constant(value, f32).owner for value in (1.0, 2.0, 1.0)]
    assert list(b.block.ops) == [*old[: at + behind], *new[:2], *old[at + behind :]]
    assert [op.location for op in b.block.ops].count(HERE) == 3
    with pytest.raises(AssertionError):
        InsertingBuilder(constant_op(1.0, f32))
