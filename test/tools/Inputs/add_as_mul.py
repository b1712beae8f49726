"""A pass with a bug, for the test of the fuzzer: sums become products."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import tilewright
from tilewright.dialects.tw.elementwise_binary import AddOp, MulOp
from tilewright.passes.rewrite import carry_location


@tilewright.register_pass
@dataclass(frozen=True)
class AddAsMulPass(ModulePass):
    """Multiply where there was a sum."""

    name = "add-as-mul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for old in [inner for inner in op.walk() if isinstance(inner, AddOp)]:
            new = MulOp(old.lhs, old.rhs)
            carry_location(old, [new])
            block = old.parent
            assert block is not None
            block.insert_op_before(new, old)
            old.result.replace_all_uses_with(new.result)
            block.erase_op(old)
