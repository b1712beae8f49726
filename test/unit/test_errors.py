"""Errors that no tool and no compile reaches easily."""

import warnings
from functools import partial
from threading import Thread

import pytest
import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import upstream
from tilewright.dialects.diagnostics import CannotCompile, NoUpstreamBindings, TilewrightError, warn_user
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.semantics import NoSemantics
from tilewright.frontend.errors import FallbackRefused, UnsupportedNode
from tilewright.frontend.tools.error_reference import error_classes
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.driver import Rewrite, RewriteBudgetExceeded, apply_rules

NEGATIONS = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.neg %x : tensor<4xf32> loc("model.py":3:0)
  func.return %0 : tensor<4xf32>
}
"""


def negations() -> ModuleOp:
    return parse_module(new_context(), NEGATIONS, "test")


def test_rules_that_undo_each_other() -> None:
    module = negations()
    neg = next(op for op in module.walk() if op.name == "tw.neg")

    def again(op: Operation, rewrite: Rewrite) -> SSAValue:
        return rewrite.value(type(op).create(operands=op.operands, result_types=op.result_types))

    with pytest.raises(RewriteBudgetExceeded, match="TW3101: `again` did not settle"):
        apply_rules(module, {type(neg): (again,)}, "again")


def test_an_op_without_semantics() -> None:
    module = negations()
    block = module.body.block.first_op.regions[0].block  # pyright: ignore[reportOptionalMemberAccess]
    block.insert_op_before(TestOp(), block.first_op)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NoSemantics, match=r"TW3110: cannot execute `test\.op`"):
        interpret(module, [torch.ones(4)], torch)


def test_upstream_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    upstream._upstream.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(upstream, "_bindings", lambda: None)
    with pytest.raises(NoUpstreamBindings, match="TW3908"):
        upstream.verify_upstream(negations())
    upstream._upstream.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_every_error_says_why_and_what_next() -> None:
    for error in error_classes():
        assert error.what, error
        assert error.why, error
        assert error.fix, error
        assert error.__doc__, error


def test_errors_of_the_frontend_have_the_common_form() -> None:
    error = UnsupportedNode(where="model.py:3 (block)", target="aten::x", reason="because")
    assert isinstance(error, CannotCompile)
    assert str(error).splitlines() == [
        "TW1006: cannot import `aten::x`",
        "  where: model.py:3 (block)",
        "  why:   because",
        "  fix:   keep this call outside the compiled function (torch.compiler.disable)",
    ]
    assert issubclass(FallbackRefused, TilewrightError)
    assert not issubclass(FallbackRefused, CannotCompile)


def test_a_warning_of_a_thread_of_ours_shows_no_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = Thread(target=partial(warn_user, "TW"))
        thread.start()
        thread.join()
        warn_user("TW")
    (of_thread, of_call) = (w for w in caught if str(w.message) == "TW")
    assert warnings.formatwarning(of_thread.message, UserWarning, of_thread.filename, of_thread.lineno) == (
        "<tilewright>:0: UserWarning: TW\n"
    )
    assert of_call.filename == __file__
