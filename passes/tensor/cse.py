"""The `cse` pass."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.base import Commutative, is_pure

from ..rewrite import may_rewrite


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Compute equal things once.

    Before:
        %a = tw.add %x, %y : tensor<8xf32>
        %b = tw.add %y, %x : tensor<8xf32>
        %c = tw.mul %a, %b : tensor<8xf32>
    After:
        %a = tw.add %x, %y : tensor<8xf32>
        %c = tw.mul %a, %a : tensor<8xf32>

    Ops are equal with the same name, operands, attributes and result types; operands of
    commutative ops in either order. Ops with effects or regions are left alone; each
    region has a table of its own.
    """

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in op.walk_blocks():
            _merge_in(block)


def _merge_in(block: Block) -> None:
    seen: dict[Hashable, Operation] = {}
    numbers: dict[SSAValue, int] = {}
    for op in list(block.ops):
        for operand in op.operands:
            numbers.setdefault(operand, len(numbers))
        if op.regions or not op.results or not is_pure(op):
            continue
        first = seen.setdefault(_key(op, numbers), op)
        if first is not op and may_rewrite(op, "merged with an equal op"):
            for old, new in zip(op.results, first.results, strict=True):
                old.replace_all_uses_with(new)
            block.erase_op(op)


def _key(op: Operation, numbers: dict[SSAValue, int]) -> Hashable:
    operands = [numbers[operand] for operand in op.operands]
    if op.has_trait(Commutative):
        operands.sort()
    return (
        op.name,
        tuple(operands),
        _sorted_items(op.properties),
        _sorted_items(op.attributes),
        tuple(result.type for result in op.results),
    )


def _sorted_items(attributes: Mapping[str, Attribute]) -> Hashable:
    if len(attributes) < 2:
        return tuple(attributes.items())
    return tuple(sorted(attributes.items(), key=lambda item: item[0]))
