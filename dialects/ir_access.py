"""What passes ask of every op; xDSL makes an object, or takes a call of Python, for each look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

OpT = TypeVar("OpT", bound=Operation)

type_of = attrgetter("_type")
"""The type of a value; called by `map`, without a call of Python for each."""


operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""`op.operands`, which is a view of this tuple."""


def ops_of(block: Block) -> list[Operation]:
    """`list(block.ops)`, which counts them first."""
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = op._next_op  # pyright: ignore[reportPrivateUsage]
    return found


def ops_within(root: Operation) -> list[Operation]:
    """All ops in the regions of `root`, each before what it holds; `walk` is a generator for each op."""
    found: list[Operation] = []
    _collect(root, found)
    return found


def _collect(root: Operation, found: list[Operation]) -> None:
    for region in root.regions:
        for block in region.blocks:
            for op in ops_of(block):
                found.append(op)
                if op.regions:
                    _collect(op, found)


def kinds_within(root: Operation, kind: type[OpT]) -> list[OpT]:
    """The ops of class `kind` in the regions of `root`."""
    return [op for op in ops_within(root) if type(op) is kind]


def defined_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body, those that are added meanwhile among them."""
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            yield op
