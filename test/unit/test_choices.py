"""Choices that change nothing vanish, nested ones become one, and nothing that was tried is left behind."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.scalars import number_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.body import simplify_body

KERNEL = """
func.func @f(%x: tensor<8xf32>, %m: tensor<8xi1>, %n: tensor<8xi1>) -> tensor<8xf32> {{
  %r = tk.kernel [8] ins(%x, %m, %n : tensor<8xf32>, tensor<8xi1>, tensor<8xi1>) -> (tensor<8xf32>) {{
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xi1>, %c: tensor<8xi1>, %o: tensor<8xf32>):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %p = tk.load %b[d0] : tensor<8xi1> -> i1
    %q = tk.load %c[d0] : tensor<8xi1> -> i1
    {body}
    tk.store %v, %o[d0] : f32, tensor<8xf32>
  }}
  func.return %r : tensor<8xf32>
}}
"""
LOAD = "%0 = tk.load %a[d0] : tensor<8xf32> -> f32\n"
MASKED = "%0 = tk.load %a[d0] if %p else %zero : tensor<8xf32> -> f32\n"


def simplified(body: str) -> KernelOp:
    module = Parser(new_context(), KERNEL.format(body=body)).parse_module()
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    simplify_body(kernel)
    module.verify()
    return kernel


def selects(kernel: KernelOp) -> list[arith.SelectOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, arith.SelectOp)]


UNDONE = {
    "of one value": LOAD + "%v = arith.select %p, %0, %0 : f32",
    "of a load that is masked so": MASKED + "%v = arith.select %p, %0, %zero : f32",
    "of a load that is masked by more": "%both = arith.andi %q, %p : i1\n"
    "%0 = tk.load %a[d0] if %both else %zero : tensor<8xf32> -> f32\n%v = arith.select %p, %0, %zero : f32",
}
KEPT = {
    "of a load that is masked otherwise": MASKED + "%v = arith.select %q, %0, %zero : f32",
    "of a load with another alternative": MASKED + "%v = arith.select %p, %0, %one : f32",
    "of a load that is masked by less": "%both = arith.andi %q, %p : i1\n"
    + MASKED
    + "%v = arith.select %both, %0, %zero : f32",
}


@pytest.mark.parametrize("body", UNDONE.values(), ids=UNDONE)
def test_choices_of_no_effect_vanish(body: str) -> None:
    kernel = simplified(body)
    assert not selects(kernel)
    (store,) = (op for op in kernel.body.block.ops if isinstance(op, StoreOp))
    assert isinstance(store.value.owner, LoadOp)


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_others_are_kept(body: str) -> None:
    assert len(selects(simplified(body))) == 1


def test_nested_choices_become_one() -> None:
    inner = LOAD + "%1 = arith.select %p, %0, %zero : f32\n"
    kernel = simplified(inner + "%v = arith.select %q, %1, %zero : f32")
    (select,) = selects(kernel)
    assert isinstance(select.lhs.owner, LoadOp)
    assert isinstance(select.cond.owner, arith.AndIOp)
    assert len(selects(simplified(inner + "%v = arith.select %q, %1, %one : f32"))) == 2
    (once,) = selects(simplified(inner + "%v = arith.select %p, %1, %zero : f32"))
    assert isinstance(once.cond.owner, LoadOp)


def test_a_condition_that_stands_there_is_used() -> None:
    """What was made in vain reads nothing any more: both conditions have one reader."""
    pairs = "".join(
        f"%x{i} = arith.select %p, %{i}, %zero : f32\n%y{i} = arith.select %q, %x{i}, %zero : f32\n"
        for i in (0, 1)
    )
    kernel = simplified(LOAD + "%1 = arith.addf %0, %one : f32\n" + pairs + "%v = arith.addf %y0, %y1 : f32")
    first, second = selects(kernel)
    assert first.cond is second.cond
    both = first.cond.owner
    assert isinstance(both, arith.AndIOp)
    assert [use.operation for part in both.operands for use in part.uses] == [both, both]


CHOSEN = "%1 = arith.select %p, %0, %one : f32\n"
AGAIN = {
    # what is computed of a choice, how often it is chosen then
    "what it is chosen of": ("%2 = arith.divf %one, %1 : f32\n%v = arith.select %p, %2, %zero : f32", 1),
    "by more conditions": (
        "%2 = math.exp %1 : f32\n%k = arith.andi %q, %p : i1\n%v = arith.select %k, %2, %zero : f32",
        1,
    ),
    "read twice": (
        "%2 = math.exp %1 : f32\n%3 = arith.mulf %2, %1 : f32\n%v = arith.select %p, %3, %zero : f32",
        1,
    ),
    "twice": (
        "%2 = arith.select %q, %1, %zero : f32\n%3 = math.exp %2 : f32\n"
        "%v = arith.select %p, %3, %zero : f32",
        2,
    ),
    "by another condition": ("%2 = math.exp %1 : f32\n%v = arith.select %q, %2, %zero : f32", 2),
    "read by others": (
        "%2 = math.exp %1 : f32\n%3 = arith.select %p, %2, %zero : f32\n%v = arith.addf %3, %1 : f32",
        2,
    ),
    "read where it is not chosen": ("%2 = math.exp %1 : f32\n%v = arith.select %p, %2, %1 : f32", 2),
    "guards a division": (
        '%i = arith.constant 7 : i64\n%j = arith.constant 1 : i64\n%l = tk.index "d0" : i64\n'
        "%g = arith.select %p, %l, %j : i64\n%d = arith.divsi %i, %g : i64\n"
        "%2 = arith.sitofp %d : i64 to f32\n%v = arith.select %p, %2, %zero : f32",
        2,
    ),
}


@pytest.mark.parametrize(("body", "left"), AGAIN.values(), ids=AGAIN)
def test_of_choices_in_a_row_the_last_is_left(body: str, left: int) -> None:
    """Where nothing else sees the others, and nothing traps that one kept from what it must not divide by."""
    assert len(selects(simplified(LOAD + CHOSEN + body))) == left


@pytest.mark.parametrize("first", [True, False])
def test_what_is_loaded_anyway_is_chosen(first: bool) -> None:
    """Whether it is loaded under no mask before or behind; at another place it is not."""
    plain, masked = "%1 = tk.load %a[d0] : tensor<8xf32> -> f32\n", MASKED
    elsewhere = "%2 = tk.load %a[-d0 + 7] if %q else %zero : tensor<8xf32> -> f32\n"
    loads = (plain + masked if first else masked + plain) + elsewhere
    kernel = simplified(loads + "%3 = arith.addf %0, %1 : f32\n%v = arith.addf %3, %2 : f32")
    (select,) = selects(kernel)
    assert isinstance(select.lhs.owner, LoadOp)
    found = [op for op in kernel.body.block.ops if isinstance(op, LoadOp) and op.result.type == f32]
    assert [load.mask is None for load in found] == [True, False]


INTEGERS = """%two = arith.constant 2 : i64
%three = arith.constant 3 : i64
%at = tk.index "d0" : i64
%equal = arith.cmpi {test} : i64
"""
DECIDED = {
    "equal": ("eq, %two, %two", "%v = arith.select %equal, %zero, %one : f32", 0.0),
    "other": ("eq, %two, %three", "%v = arith.select %equal, %zero, %one : f32", 1.0),
    "not": ("ne, %two, %three", "%v = arith.select %equal, %zero, %one : f32", 0.0),
    "less": ("slt, %two, %three", "%v = arith.select %equal, %zero, %one : f32", 0.0),
    "and": (
        "eq, %two, %three",
        "%both = arith.andi %p, %equal : i1\n%v = arith.select %both, %zero, %one : f32",
        1.0,
    ),
    "or": (
        "ne, %two, %three",
        "%both = arith.ori %equal, %p : i1\n%v = arith.select %both, %zero, %one : f32",
        0.0,
    ),
}


@pytest.mark.parametrize(("test", "body", "number"), DECIDED.values(), ids=DECIDED)
def test_numbers_decide(test: str, body: str, number: float) -> None:
    kernel = simplified(INTEGERS.format(test=test) + body)
    (store,) = (op for op in kernel.body.block.ops if isinstance(op, StoreOp))
    assert number_of(store.value) == number
    assert not any(isinstance(op, arith.CmpiOp) for op in kernel.body.block.ops)


@pytest.mark.parametrize(
    ("condition", "negated"),
    [
        ("arith.xori %p, %equal : i1", True),
        ("arith.xori %p, %other : i1", False),
        ("arith.andi %equal, %p : i1", False),
        ("arith.ori %other, %p : i1", False),
    ],
)
def test_conditions_that_numbers_leave(condition: str, negated: bool) -> None:
    body = INTEGERS.format(test="eq, %two, %two") + "%other = arith.cmpi eq, %two, %three : i64\n"
    kernel = simplified(body + f"%both = {condition}\n%v = arith.select %both, %zero, %one : f32")
    (select,) = selects(kernel)
    assert isinstance(select.cond.owner, arith.XOrIOp if negated else LoadOp)


def test_what_is_not_known_stays() -> None:
    kernel = simplified(INTEGERS.format(test="eq, %two, %at") + "%v = arith.select %equal, %zero, %one : f32")
    assert isinstance(selects(kernel)[0].cond.owner, arith.CmpiOp)


def test_checks_that_cannot_fail_vanish() -> None:
    checks = 'tk.assert %equal "known" : i1\ntk.assert %p "not known" : i1\n'
    kernel = simplified(INTEGERS.format(test="ne, %two, %three") + checks + LOAD + "%v = arith.negf %0 : f32")
    (check,) = (op for op in kernel.body.block.ops if isinstance(op, AssertOp))
    assert check.message.data == "not known"


PARTS = """%three = arith.constant 3 : i64
%four = arith.constant 4 : i64
%at = tk.index "d0" : i64
%before = arith.cmpi slt, %at, %three : i64
%behind = arith.cmpi {behind} : i64
"""
FIRST_AND_OTHERS = """%0 = tk.load %a[d0] if %before else %zero : tensor<8xf32> -> f32
%1 = tk.load %a[d0] if %behind else %zero : tensor<8xf32> -> f32
%2 = arith.negf %1 : f32
%3 = arith.select %behind, %2, %one : f32
%v = arith.select %before, %0, %3 : f32
"""


def test_what_lies_before_a_position_or_behind_it_is_loaded_once() -> None:
    kernel = simplified(PARTS.format(behind="sge, %at, %three") + FIRST_AND_OTHERS)
    (select,) = selects(kernel)
    (load,) = (op for op in kernel.body.block.ops if isinstance(op, LoadOp) and op.result.type == f32)
    assert load.mask is None
    assert select.lhs is load.result
    assert isinstance(select.rhs.owner, arith.NegfOp)
    assert select.rhs.owner.operand is load.result


@pytest.mark.parametrize("behind", ["sge, %at, %four", "sgt, %at, %three", "uge, %at, %three"])
def test_between_two_positions_nothing_is_loaded(behind: str) -> None:
    kernel = simplified(PARTS.format(behind=behind) + FIRST_AND_OTHERS)
    assert len(selects(kernel)) == 2
    assert all(
        op.mask is not None
        for op in kernel.body.block.ops
        if isinstance(op, LoadOp) and op.result.type == f32
    )


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("%behind", "arith.negf"),
        ("%before", "math.absf"),
        ("%both", "math.absf"),
        ("%p", None),
    ],
)
def test_what_is_known_where_a_condition_fails(condition: str, kept: str | None) -> None:
    body = PARTS.format(behind="sge, %at, %three") + LOAD
    body += "%both = arith.andi %before, %p : i1\n%1 = arith.negf %0 : f32\n%2 = math.absf %0 : f32\n"
    body += f"%3 = arith.select {condition}, %1, %2 : f32\n%v = arith.select %before, %zero, %3 : f32"
    kernel = simplified(body)
    assert len(selects(kernel)) == (2 if kept is None else 1)
    if kept is not None:
        made = selects(kernel)[0].rhs.owner
        assert isinstance(made, Operation)
        assert made.name == kept


@pytest.mark.parametrize(("condition", "kept"), [("%behind", "math.absf"), ("%before", "arith.negf")])
def test_what_is_known_where_a_condition_holds(condition: str, kept: str) -> None:
    body = PARTS.format(behind="sge, %at, %three") + LOAD
    body += "%1 = arith.negf %0 : f32\n%2 = math.absf %0 : f32\n"
    body += f"%3 = arith.select {condition}, %1, %2 : f32\n%v = arith.select %before, %3, %zero : f32"
    (select,) = selects(simplified(body))
    made = select.lhs.owner
    assert isinstance(made, Operation)
    assert made.name == kept
