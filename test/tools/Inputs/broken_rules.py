"""Passes that fail in the ways in which one's first passes do."""

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

import tilewright
from tilewright.dialects.tw.elementwise import ExpOp, NegOp
from tilewright.passes.driver import Rewrite


@tilewright.register_pass("looks-up", on=ExpOp)
def looks_up(op: ExpOp, rewrite: Rewrite) -> SSAValue:
    """Ask a table for what it does not hold."""
    table: dict[str, SSAValue] = {}
    return table["nothing"]


@tilewright.register_pass("returns-op", on=ExpOp)
def returns_op(op: ExpOp, rewrite: Rewrite) -> Operation:
    """Return an op where a value is wanted."""
    return NegOp(op.operand)


@tilewright.register_pass("changes-type", on=ExpOp)
def changes_type(op: ExpOp, rewrite: Rewrite) -> SSAValue:
    """Return a value of another type."""
    return rewrite.value(ExpOp.create(operands=[op.operand], result_types=[TensorType(f64, [9])]))


@tilewright.register_pass("returns-itself", on=ExpOp)
def returns_itself(op: ExpOp, rewrite: Rewrite) -> SSAValue:
    """Return the value that is to be replaced."""
    return op.result


@tilewright.register_pass("forgets-to-insert", on=ExpOp)
def forgets_to_insert(op: ExpOp, rewrite: Rewrite) -> SSAValue:
    """Return the result of an op that is nowhere."""
    return NegOp(op.operand).result


@tilewright.register_pass("stops")
def stops(ctx: Context, module: ModuleOp) -> None:
    """Raise, as a pass over the whole module."""
    raise RuntimeError("stopped")


@tilewright.register_pass("use-before-definition")
def use_before_definition(ctx: Context, module: ModuleOp) -> None:
    """Move the first op of each function behind all that use it."""
    for function in module.walk():
        if isinstance(function, FuncOp):
            block = function.body.block
            first, last = block.first_op, block.last_op
            assert first is not None
            assert last is not None
            first.detach()
            block.insert_op_before(first, last)


@tilewright.register_pass
@dataclass(frozen=True)
class PrintsOptionsPass(ModulePass):
    """Print its options."""

    name = "prints-options"

    count: int = 1
    share: float = 0.5
    label: str = "x"
    kind: Literal["none", "some"] = "none"
    exact: bool = False
    sizes: tuple[int, ...] = ()
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        print(f"// {self.count} {self.share} {self.label} {self.kind} {self.exact} {self.sizes} {self.limit}")
