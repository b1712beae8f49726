"""A pass that fails where it meets `@setup`, which no pass after `hoist-frozen` meets in a compile."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import tilewright


@tilewright.register_pass("refuse-setup")
def refuse_setup(ctx: Context, module: ModuleOp) -> None:
    """Fail where there is a function other than `@main`."""
    names = [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]
    if names != ["main"]:
        raise ValueError(f"met {names}")
