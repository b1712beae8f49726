"""Ops that take over the results of others."""

from __future__ import annotations

from xdsl.dialects.func import ReturnOp
from xdsl.ir import OpResult

from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.elementwise import ExpOp
from tilewright.frontend.tool_io import parse_module
from tilewright.passes.manager import module_text, verify_module
from tilewright.passes.rewrite import take_results

TEXT = """
builtin.module {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = tw.exp %x : tensor<4xf32>
    %b = tw.neg %a : tensor<4xf32>
    func.return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}
"""


def test_users_of_results_that_another_op_takes_stay_as_they_are() -> None:
    module = parse_module(new_context(), TEXT, "test")
    before = module_text(module)
    old = next(op for op in module.walk() if isinstance(op, ExpOp))
    leave = next(op for op in module.walk() if isinstance(op, ReturnOp))
    result, returned, block = old.results[0], tuple(leave.operands), old.parent
    assert isinstance(result, OpResult)
    assert block is not None
    new = ExpOp.create(operands=old.operands, result_types=old.result_types)
    block.insert_op_before(new, old)
    take_results(new, [result])
    block.erase_op(old)
    verify_module(module)
    assert tuple(leave.operands) == returned
    assert (result.op, result.index, tuple(new.results)) == (new, 0, (result,))
    assert not old.results
    assert module_text(module) == before
