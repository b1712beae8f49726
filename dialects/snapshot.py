"""Ops as they were, to see whether they still are."""

from __future__ import annotations

from itertools import repeat
from typing import NamedTuple

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from .ir_access import operands_of, type_of

Types = tuple[Attribute, ...]


class Snapshot(NamedTuple):
    """An op as it was. Holds the objects, so that none is taken for a later one."""

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    operand_types: Types
    result_types: Types
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    successors: tuple[Block, ...]
    regions: tuple[RegionSnapshot, ...]

    def is_current(self) -> bool:
        """Whether the op is as it was, and all in its regions, wherever it stands."""
        return _is_current(self, alone=True)

    def is_same_module(self) -> bool:
        """The same of an op that uses nothing from outside."""
        return _is_current(self, alone=False)

    def head(self) -> tuple[object, ...]:
        """The op without what is in its blocks, but for their arguments."""
        return (*self[:-1], [block[:3] for region in self.regions for block in region.blocks])


class RegionSnapshot(NamedTuple):
    """A region as it was."""

    region: Region
    blocks: tuple[BlockSnapshot, ...]


class BlockSnapshot(NamedTuple):
    """A block as it was."""

    block: Block
    arguments: tuple[SSAValue, ...]
    types: Types
    ops: tuple[Snapshot, ...]


def snapshot_of(op: Operation, regions: tuple[RegionSnapshot, ...] | None = None) -> Snapshot:
    """The op as it is, and its regions, if they are not known already."""
    operands, results = operands_of(op), op.results
    return Snapshot(
        op,
        operands,
        results,
        tuple(map(type_of, operands)),
        tuple(map(type_of, results)),
        op.properties.copy(),
        op.attributes.copy(),
        op._successors,  # pyright: ignore[reportPrivateUsage]
        tuple(map(_region, op.regions)) if regions is None else regions,
    )


def snapshot_of_block(block: Block, ops: list[Snapshot]) -> BlockSnapshot:
    """The block as it is; `ops` are those in it."""
    return BlockSnapshot(block, block.args, tuple(map(type_of, block.args)), tuple(ops))


def check_parents(op: Operation, block: Block, region: Region) -> None:
    """Raise where an op or its block says that it is elsewhere."""
    if op.parent is not block or block.parent is not region:
        raise ValueError(f"the parent pointer of {op.name} or of its block is not what contains it")


def _region(region: Region) -> RegionSnapshot:
    blocks: list[BlockSnapshot] = []
    for block in region.blocks:
        op, ops = block.first_op, list[Snapshot]()
        while op is not None:
            check_parents(op, block, region)
            ops.append(snapshot_of(op))
            op = op._next_op  # pyright: ignore[reportPrivateUsage]
        blocks.append(snapshot_of_block(block, ops))
    return RegionSnapshot(region, tuple(blocks))


def _is_current(was: Snapshot, alone: bool) -> bool:
    """Nearly always, so little is built to see it.

    Unless it is looked at `alone`, what defines its operands is compared as well, and with that their types.
    """
    op, operands, results, operand_types, result_types, properties, attributes, successors, regions = was
    return (
        op._operands == operands  # pyright: ignore[reportPrivateUsage]
        and op.results == results
        and (not alone or tuple(map(type_of, operands)) == operand_types)
        and tuple(map(type_of, results)) == result_types
        and op.properties == properties
        and op.attributes == attributes
        and op._successors == successors  # pyright: ignore[reportPrivateUsage]
        and len(op.regions) == len(regions)
        and (not regions or all(map(_is_current_region, op.regions, regions, repeat(alone))))
    )


def _is_current_region(region: Region, was: RegionSnapshot, alone: bool) -> bool:
    if region is not was.region:
        return False
    block = region.first_block
    for known in was.blocks:
        if block is not known.block or known.block.parent is not region:
            return False
        if not _is_current_block(known, alone):
            return False
        block = known.block.next_block
    return block is None


def _is_current_block(was: BlockSnapshot, alone: bool) -> bool:
    block, arguments, types, ops = was
    if block.args != arguments or tuple(map(type_of, arguments)) != types:
        return False
    op = block.first_op
    for known in ops:
        if op is None or op is not known[0] or op.parent is not block or not _is_current(known, alone):
            return False
        op = op._next_op  # pyright: ignore[reportPrivateUsage]
    return op is None
