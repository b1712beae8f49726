"""Which loads of a matrix product are by tensor descriptor: which can be, and what pays untimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.descriptor import Axis, Descriptor, describe
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import FuncOp

from ...rewrite import skip
from ..blocks import Blocks

_STEPS, _SIDE = 32, 64
"""Steps of a sum, and rows and columns of a block, from which on descriptors are made untimed.

A program writes its own to memory and waits for them, once: on sm_90 by 110 to 170 instructions. A step
has 7 to 17 fewer then, of 86 to 99; with blocks of 32 x 32 it has 74 instead of 61. On an H100 that gave
nothing (docs/decisions/tensor-descriptors.md): untimed, it is done on devices that were not timed.
"""


def described(func: FuncOp, product: Contraction, blocks: Blocks) -> Mapping[LoadOp, Descriptor | str]:
    """The loads of blocks inside of the sum, and for each its descriptor or why it has none."""
    block = dict(blocks.sizes)
    grid = {a for a, _ in blocks.sizes[: blocks.grid]}
    axes = {a: Axis(func.space[a], n, fixed=a in grid) for a, n in block.items()}
    (depth,) = product.over
    found: dict[LoadOp, Descriptor | str] = {}
    for op in func.body.block.ops:
        if not isinstance(op, LoadOp) or depth not in (used := axes_of_exprs(op.subscripts)):
            continue
        lanes = (*(product.rows & used), depth, *(product.columns & used))
        if len(lanes) > 1:
            found[op] = describe(op, lanes, [block[a] for a in lanes], axes)
    return found


def describable(func: FuncOp, loads: Mapping[LoadOp, Descriptor | str]) -> tuple[int, ...]:
    """The numbers of the arguments of which every load is by descriptor."""
    refused = {op.buffer for op, what in loads.items() if isinstance(what, str)}
    kept = {op.buffer for op in loads} - refused
    return tuple(i for i, arg in enumerate(func.body.block.args) if arg in kept)


def decide_descriptors(func: FuncOp, product: Contraction, blocks: Blocks, *, untimed: bool) -> Blocks:
    """The default: all loads by descriptor where blocks are large and the sum is long, or none.

    None where a clock has to say so, not `untimed`.
    """
    loads = described(func, product, blocks)
    found = replace(blocks, describable=describable(func, loads))
    refusals = [(op, what) for op, what in loads.items() if isinstance(what, str)]
    for op, why in refusals:
        skip(op, f"by pointers, not by tensor descriptor: {why}")
    if refusals:
        return found
    if not (why := _too_little(func, product, blocks) if untimed else "loads of lanes are as fast here"):
        return replace(found, descriptors=found.describable)
    skip(func, f"by pointers, not by tensor descriptor: {why}")
    return found


def _too_little(func: FuncOp, product: Contraction, blocks: Blocks) -> str:
    """Why what a program does is not taken to be worth its descriptors; nothing where it is."""
    block = dict(blocks.sizes)
    (row,), (column,), (depth,) = product.rows, product.columns, product.over
    if min(block[row], block[column]) < _SIDE:
        return f"blocks of {block[row]} x {block[column]} are small"
    size = func.space[depth].constant
    if size is None or -(-size // block[depth]) < _STEPS:
        return f"its sum is not known to have {_STEPS} steps"
    return ""


def with_descriptors(func: FuncOp, product: Contraction, blocks: Blocks) -> Blocks:
    """As many loads by descriptor as can be."""
    return replace(blocks, descriptors=describable(func, described(func, product, blocks)))
