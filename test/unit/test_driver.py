"""The worklist of rules: how far it goes, what it erases, and what it says of a rule that fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tw.elementwise import AbsOp, ExpOp, NegOp
from tilewright.passes.driver import Rewrite, RewriteBudgetExceeded, apply_rules
from tilewright.passes.rewrite import FailedRule, counting_rewrites

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.neg %x : tensor<4xf32> loc("m.py":1:0)
  %1 = tw.neg %0 : tensor<4xf32> loc("m.py":2:0)
  %2 = tw.neg %1 : tensor<4xf32> loc("m.py":3:0)
  %3 = tw.neg %2 : tensor<4xf32> loc("m.py":4:0)
  %unread = tw.exp %0 : tensor<4xf32> loc("m.py":5:0)
  func.return %3 : tensor<4xf32>
}"""


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("tw.")]


def undo(op: Operation, rewrite: Rewrite) -> SSAValue | None:
    """`x` of `neg(neg(x))`."""
    inner = op.operands[0].owner
    return inner.operands[0] if isinstance(inner, NegOp) else None


def to_abs(op: Operation, rewrite: Rewrite) -> SSAValue:
    return rewrite.value(AbsOp(op.operands[0]))


def test_rules_apply_to_what_other_rewrites_left_and_the_unread_goes() -> None:
    module = parse(TEXT)
    assert apply_rules(module, {NegOp: (undo,)}, "undo")
    module.verify()
    assert names(module) == []


def test_where_no_rule_applies_only_the_unread_goes() -> None:
    module = parse(TEXT)
    assert not apply_rules(module, {AbsOp: (undo,)}, "undo")
    assert names(module) == ["tw.neg"] * 4


def test_the_first_rule_that_applies_is_taken_and_new_ops_have_the_line_of_the_old() -> None:
    module = parse(TEXT)
    assert apply_rules(module, {NegOp: (lambda op, rw: None, to_abs, undo)}, "abs")
    module.verify()
    assert names(module) == ["tw.abs"] * 4
    lines = [str(op.location) for op in module.walk() if isinstance(op, AbsOp)]
    assert lines == [f'loc("m.py":{n}:0)' for n in (1, 2, 3, 4)]


def test_a_fallback_is_asked_of_every_op_after_its_own_rules() -> None:
    module, asked = parse(TEXT), list[str]()

    def note(op: Operation, rewrite: Rewrite) -> None:
        asked.append(op.name)

    apply_rules(module, {NegOp: (to_abs,)}, "note", fallback=(note,))
    assert "tw.neg" not in asked
    assert {"func.return", "func.func"} <= set(asked)


def test_no_more_rewrites_than_are_allowed() -> None:
    module = parse(TEXT)
    with counting_rewrites(limit=2) as count:
        apply_rules(module, {NegOp: (to_abs,)}, "abs")
    assert count.done == 2
    assert names(module).count("tw.abs") == 2


def test_rules_that_undo_each_other_are_an_error() -> None:
    def to_neg(op: Operation, rewrite: Rewrite) -> SSAValue:
        return rewrite.value(NegOp(op.operands[0]))

    with pytest.raises(RewriteBudgetExceeded, match="circle"):
        apply_rules(parse(TEXT), {NegOp: (to_abs,), AbsOp: (to_neg,)}, "circle")


def raises(op: Operation, rewrite: Rewrite) -> SSAValue:
    raise ZeroDivisionError("by nothing")


def too_few(op: Operation, rewrite: Rewrite) -> Sequence[SSAValue]:
    return ()


def another_type(op: Operation, rewrite: Rewrite) -> SSAValue:
    return "%x"  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("rule", [raises, too_few, another_type])
def test_a_rule_that_fails_is_named_with_the_line(rule: object) -> None:
    module = parse(TEXT)
    with pytest.raises(FailedRule) as raised:
        apply_rules(module, {NegOp: (rule,)}, "broken")  # pyright: ignore[reportArgumentType]
    assert str(raised.value.op.location) == 'loc("m.py":1:0)'
    assert str(raised.value).startswith("tw.neg: ")
    assert type(raised.value.cause) is (ZeroDivisionError if rule is raises else TypeError)


def test_a_rule_that_declines_has_inserted_nothing() -> None:
    def half(op: Operation, rewrite: Rewrite) -> None:
        rewrite.insert(ExpOp(op.operands[0]))

    with pytest.raises(AssertionError, match="then declined"):
        apply_rules(parse(TEXT), {NegOp: (half,)}, "half")
