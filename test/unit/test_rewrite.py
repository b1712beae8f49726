"""Ops that take over the results of others, and arguments that are added at once."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i1, i64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, OpResult

from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.elementwise import ExpOp
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import module_text, verify_module
from tilewright.passes.rewrite import insert_arguments, take_results

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
    module = parse_module(new_context(), TEXT, "test", places=False)
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


def test_arguments_that_are_inserted_at_once_are_numbered_like_the_others() -> None:
    block = Block(arg_types=[f32, i1])
    first, last = block.args
    new = insert_arguments(block, 1, [i64, f32])
    assert block.args == (first, *new, last)
    assert [argument.index for argument in block.args] == [0, 1, 2, 3]
    assert [argument.type for argument in block.args] == [f32, i64, f32, i1]
    assert all(argument.block is block for argument in new)
