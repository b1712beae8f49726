"""What passes ask of every op; xDSL makes an object, or takes a call of Python, for each look."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

type_of = attrgetter("_type")
"""The type of a value; called by `map`, without a call of Python for each."""


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """`op.operands`, which is a view of this tuple."""
    return op._operands  # pyright: ignore[reportPrivateUsage]


def ops_of(block: Block) -> list[Operation]:
    """`list(block.ops)`, which counts them first."""
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = op._next_op  # pyright: ignore[reportPrivateUsage]
    return found


def defined_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body, those that are added meanwhile among them."""
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            yield op
