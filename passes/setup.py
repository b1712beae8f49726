"""`@setup`: what `hoist-frozen` moved out of `@main`, and what a compile takes out of the module then.

The passes after that see `@main` alone; the reference interpreter runs `@setup`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

SETUP = "setup"
_MAKER = "hoist-frozen"


def take_setup(module: ModuleOp) -> ModuleOp | None:
    """Detach `@setup` into a module of its own, None where there is none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == SETUP:
            op.detach()
            return ModuleOp([op])
    return None


def end_of_setup(passes: Sequence[ModulePass]) -> int:
    """How many passes see `@setup`; 0 where none makes it."""
    return next((i for i, p in enumerate(passes, start=1) if p.name == _MAKER), 0)
