"""Verifies a module again and again, at the cost of what changed in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from .dominance import verify_dominance
from .op_text import OpTexts, Text, operands_of, type_of


class SelfContained:
    """Mixed into ops whose verifier reads the op, its types and attributes and its regions only.

    What was found right is then right wherever it stands and however often. An op whose verifier looks at
    where it stands, who uses or makes its operands or what another symbol is must not say this, unless
    all that it looks at stands in a region of an op that does.
    """


class Enclosed:
    """Mixed into ops without regions whose verifier reads the op, its types and attributes and, of the ops
    around it, the properties and attributes; so do those of all upstream ops of `arith` and `math`."""


Types = tuple[Attribute, ...]


class _Known(NamedTuple):
    """An op that was found right, as it was. Holds the objects, so that none is taken for a later one."""

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    operand_types: Types
    result_types: Types
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    successors: tuple[Block, ...]
    regions: tuple[_KnownRegion, ...]


class _KnownRegion(NamedTuple):
    region: Region
    blocks: tuple[_KnownBlock, ...]


class _KnownBlock(NamedTuple):
    block: Block
    arguments: tuple[SSAValue, ...]
    types: Types
    ops: tuple[_Known, ...]


@dataclass
class Verifier:
    """What `module.verify()` checks, and dominance, without judging the same thing twice.

    A module is not judged again while nothing of it was replaced. If something was, an op that is
    `SelfContained` is not judged again while nothing of that op was, nor if its text, but for the names
    of values, is that of one that was right; nor is an `Enclosed` op, if the texts of the ops around it
    are the same, too. Then positions are checked each time: parents, terminators, dominance (which nothing
    outside can change for what is inside an isolated op).
    """

    _module: _Known | None = None
    _right: dict[int, _Known] = field(default_factory=dict[int, _Known])
    """Self-contained ops by their `id`."""
    _texts: OpTexts = field(default_factory=OpTexts)
    _right_texts: set[Text] = field(default_factory=set[Text])
    _around: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """A number for each nest of ops: that of the outer ones and the text of the innermost."""
    _right_inside: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Enclosed ops: what is around them, and their own text."""

    def verify(self, module: ModuleOp) -> None:
        """Raise what xDSL's verifier or `verify_dominance` raises."""
        last, self._module = self._module, None
        if last is None or last.op is not module or module.parent is not None or not _still(last, False):
            before, self._right = self._right, {}
            right: dict[int, _Known] = {}
            last = self._check(module, before, right)
            verify_dominance(module, right)
            self._right = right
        self._module = last

    def _check(self, op: Operation, before: dict[int, _Known], right: dict[int, _Known]) -> _Known:
        known = before.get(id(op))
        if known is not None and _still(known, True):
            if op.parent is not None and op.parent.last_op is op:
                op.verify(verify_nested_ops=False)  # it need not have been the last before
            right[id(op)] = known
        elif isinstance(op, SelfContained):
            known = _know(op)
            if self._judge(op):
                right[id(op)] = known
        else:
            regions = tuple([self._check_region(region, before, right) for region in op.regions])
            op.verify(verify_nested_ops=False)
            known = _know(op, regions)
        return known

    def _judge(self, op: Operation) -> bool:
        """Raise what is wrong; false where it must be judged each time."""
        text = self._texts.text(op)
        if text is None:
            op.verify()
        elif text not in self._right_texts or (op.parent is not None and op.parent.last_op is op):
            self._verify(op, -1)
            self._right_texts.add(text)
        return text is not None

    def _verify(self, op: Operation, around: int) -> None:
        """`op.verify()`, but for enclosed ops that stand as others stood that were right."""
        here = self._around.setdefault((around, self._texts.number(op)), len(self._around))
        for region in op.regions:
            for block in region.blocks:
                inner = block.first_op
                if inner is None:
                    block.verify()  # which says where a block may be empty
                while inner is not None:
                    if _is_enclosed(type(inner)) and inner.next_op is not None:
                        self._verify_enclosed(inner, here)
                    else:
                        self._verify(inner, here)
                    inner = inner.next_op
        op.verify(verify_nested_ops=False)

    def _verify_enclosed(self, op: Operation, around: int) -> None:
        known = (around, self._texts.number(op))
        if known not in self._right_inside:
            op.verify()
            self._right_inside.add(known)

    def _check_region(
        self, region: Region, before: dict[int, _Known], right: dict[int, _Known]
    ) -> _KnownRegion:
        blocks: list[_KnownBlock] = []
        for block in region.blocks:
            op, ops = block.first_op, list[_Known]()
            if op is None:
                block.verify()  # which says where a block may be empty
            while op is not None:
                _check_parents(op, block, region)
                ops.append(self._check(op, before, right))
                op = op.next_op
            blocks.append(_KnownBlock(block, block.args, _types(block.args), tuple(ops)))
        return _KnownRegion(region, tuple(blocks))


def _check_parents(op: Operation, block: Block, region: Region) -> None:
    if op.parent is not block or block.parent is not region:
        raise ValueError(f"the parent pointer of {op.name} or of its block is not what contains it")


@cache
def _is_enclosed(cls: type[Operation]) -> bool:
    return issubclass(cls, Enclosed) or cls.dialect_name() in ("arith", "math")


def _types(values: tuple[SSAValue, ...]) -> Types:
    return tuple(map(type_of, values))


def _still(known: _Known, alone: bool) -> bool:
    """Whether the op is as it was, and all in its regions: nearly always, so little is built to see it.

    Unless it is looked at `alone`, what defines its operands is compared as well, and with that their types.
    """
    op, operands, results, operand_types, result_types, properties, attributes, successors, regions = known
    return (
        op._operands == operands  # pyright: ignore[reportPrivateUsage]
        and op.results == results
        and (not alone or tuple(map(type_of, operands)) == operand_types)
        and tuple(map(type_of, results)) == result_types
        and op.properties == properties
        and op.attributes == attributes
        and op._successors == successors  # pyright: ignore[reportPrivateUsage]
        and len(op.regions) == len(regions)
        and (not regions or all(map(_region_still, op.regions, regions, repeat(alone))))
    )


def _region_still(region: Region, known: _KnownRegion, alone: bool) -> bool:
    if region is not known.region:
        return False
    block = region.first_block
    for was in known.blocks:
        if block is not was.block or was.block.parent is not region or not _block_still(was, alone):
            return False
        block = was.block.next_block
    return block is None


def _block_still(known: _KnownBlock, alone: bool) -> bool:
    block = known.block
    if block.args != known.arguments or _types(block.args) != known.types:
        return False
    op = block.first_op
    for was in known.ops:
        if op is None or op is not was.op or op.parent is not block or not _still(was, alone):
            return False
        op = op._next_op  # pyright: ignore[reportPrivateUsage]
    return op is None


def _know(op: Operation, regions: tuple[_KnownRegion, ...] | None = None) -> _Known:
    """The op as it is, and its regions, if they are not known already."""
    operands, results = operands_of(op), op.results
    return _Known(
        op,
        operands,
        results,
        _types(operands),
        _types(results),
        op.properties.copy(),
        op.attributes.copy(),
        op._successors,  # pyright: ignore[reportPrivateUsage]
        tuple(map(_know_region, op.regions)) if regions is None else regions,
    )


def _know_region(region: Region) -> _KnownRegion:
    blocks: list[_KnownBlock] = []
    for block in region.blocks:
        op, ops = block.first_op, list[_Known]()
        while op is not None:
            _check_parents(op, block, region)
            ops.append(_know(op))
            op = op.next_op
        blocks.append(_KnownBlock(block, block.args, _types(block.args), tuple(ops)))
    return _KnownRegion(region, tuple(blocks))
