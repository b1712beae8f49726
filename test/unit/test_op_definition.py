"""Named operands, results and regions of ops of our dialects, and what is kept beside attributes."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, f32, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Dialect, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    region_def,
    result_def,
    var_operand_def,
)
from xdsl.irdl.operations import BaseAttrAccessor, BeforeVariadicSingleAccessor
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.attribute_facts import ints, ints_in, once
from tilewright.dialects.op_definition import op_definition
from tilewright.dialects.th.dialect import TH
from tilewright.dialects.tk.dialect import TK
from tilewright.dialects.tw.dialect import TW


@op_definition
class Sized(IRDLOperation):
    name = "test.sized"
    first = operand_def(f32)
    several = var_operand_def(f32)
    maybe = opt_operand_def(f32)
    last = operand_def(f32)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@op_definition
class Plain(IRDLOperation):
    name = "test.plain"
    first = operand_def(f32)
    several = var_operand_def(f32)
    last = operand_def(f32)
    one, other = result_def(f32), result_def(i32)
    body = region_def()


VALUES = TestOp(result_types=[f32] * 6).results


@pytest.mark.parametrize("several", range(3))
@pytest.mark.parametrize("maybe", [False, True])
def test_operands_of_a_sized_op(several: int, maybe: bool) -> None:
    first, last, optional, *others = VALUES
    given = others[:several]
    op = Sized(operands=[first, given, [optional] if maybe else [], last])
    op.verify()
    assert op.first is first
    assert op.last is last
    assert tuple(op.several) == tuple(given)
    assert op.maybe is (optional if maybe else None)


def test_names_follow_operands_and_sizes_that_change() -> None:
    first, last, optional, a, b, _ = VALUES
    op = Sized(operands=[first, [a, b], [], last])
    assert tuple(op.several) == (a, b)
    op.operands = [first, a, optional, last]
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 1, 1])
    assert tuple(op.several) == (a,)
    assert op.maybe is optional
    assert op.last is last
    op.operands[1] = b
    assert tuple(op.several) == (b,)


def test_sizes_that_do_not_fit_are_an_error() -> None:
    op = Sized(operands=[VALUES[0], [], [], VALUES[1]])
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 1, 1])
    with pytest.raises(VerifyException):
        op.verify()


@pytest.mark.parametrize("several", range(3))
def test_names_of_a_plain_op(several: int) -> None:
    first, last, *others = VALUES
    region = Region()
    op = Plain(operands=[first, others[:several], last], result_types=[f32, i32], regions=[region])
    op.verify()
    assert op.first is first
    assert op.last is last
    assert tuple(op.several) == tuple(others[:several])
    assert op.one is op.results[0]
    assert op.other is op.results[1]
    assert op.body is region
    with pytest.raises(NotImplementedError):
        op.first = last


def test_once_is_asked_once_of_each_attribute() -> None:
    asked: list[Attribute] = []

    @once
    def width(type_: IntegerType) -> int:
        asked.append(type_)
        return type_.width.data

    one, equal, other = IntegerType(7), IntegerType(7), IntegerType(9)
    assert [width(type_) for type_ in (one, one, equal, other, one)] == [7, 7, 7, 9, 7]
    assert asked == [one, equal, other]
    assert one == equal
    assert hash(one) == hash(equal)
    assert repr(one) == repr(equal)
    assert one != other


def test_integers_of_arrays() -> None:
    array: DenseArrayBase[IntegerType] = DenseArrayBase.from_list(i64, [3, -1, 2**40])
    assert ints(array) == ints(array) == (3, -1, 2**40)
    assert ints_in(array) == (3, -1, 2**40)
    assert ints_in(DenseArrayBase.from_list(i64, [])) == ()
    assert ints_in(None) is None
    assert ints_in(f32) is None
    assert ints_in(DenseArrayBase.from_list(f32, [1.0])) is None


@pytest.mark.parametrize("dialect", [TW, TK, TH], ids=lambda dialect: dialect.name)
def test_all_our_ops_are_defined_so(dialect: Dialect) -> None:
    slow = (BeforeVariadicSingleAccessor, BaseAttrAccessor)
    ours = [op for op in dialect.operations if op.name.startswith(f"{dialect.name}.")]
    assert ours
    found = {op: [a for a in vars(op).values() if isinstance(a, slow)] for op in ours}
    assert any(found.values())
    assert not [op.name for op, accessors in found.items() for a in accessors if "xdsl" in type(a).__module__]
