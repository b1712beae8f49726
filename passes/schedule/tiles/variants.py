"""What `schedule-gpu{candidates=true}` names beside its choice: a few configurations per class of kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

from tilewright.dialects.tk.kernels import FuncOp

from ..blocks import CANDIDATES, Blocks, power_of_two
from ..roles import matrix_products
from .descriptors import with_descriptors

_MOST_WARPS = 16


@dataclass(frozen=True)
class Variant:
    """How a configuration differs from the default; sizes and warps in powers of two."""

    sizes: tuple[int, ...] = ()
    """Of the blocks of the axes that the class varies, from the first on."""
    warps: int = 0
    stages: int = 0
    """Steps that are loaded ahead, more or fewer."""
    turns: bool = False
    """What is loaded by tensor descriptor is by pointers, or the reverse."""


VARIANTS: Mapping[str, Sequence[Variant]] = {
    "pointwise": (Variant((1,)), Variant((-1,)), Variant((1,), 1), Variant((2,), 1), Variant((-1,), -1)),
    "turned": (Variant((-1, -1), -1), Variant((1, 0)), Variant((0, 1)), Variant((0, 0), -1)),
    "rows": (Variant((1,)), Variant((-1,)), Variant((), 1), Variant((), -1), Variant((1,), 1)),
    "product": (
        Variant((), 0, 1),
        Variant((), 0, -1),
        Variant((-1, 0)),
        Variant((0, -1)),
        Variant((1, 0)),
        Variant((-1, -1), -1),
        Variant((0, 0, -1), 0, 1),
        Variant((), -1),
        Variant(turns=True),
        Variant((), 0, 1, turns=True),
    ),
    "chain": (Variant((0, 1)), Variant((-1, 0)), Variant((-1, 0), -1), Variant((), 0, 1), Variant((0, 1), 1)),
}
"""By the class of kernel: rows and columns of products, rows and keys of chains, and so on."""

_LEAST: Mapping[str, int] = {"product": 16, "chain": 16}
"""Matrix units take no smaller sides."""


def variants(func: FuncOp, default: Blocks) -> list[Blocks]:
    """The default, then what differs from it and suits the function."""
    found = [default]
    for variant in VARIANTS.get(default.kind, ()):
        blocks = _changed(func, default, variant)
        if blocks is not None and blocks not in found:
            found.append(blocks)
    return found


def candidates(func: FuncOp, default: Blocks) -> dict[str, Attribute]:
    """The attribute that names them, the default first; nothing where there is no choice."""
    found = variants(func, default)
    if len(found) == 1:
        return {}
    return {CANDIDATES: ArrayAttr(DictionaryAttr(blocks.attributes()) for blocks in found)}


def _changed(func: FuncOp, default: Blocks, variant: Variant) -> Blocks | None:
    """None where a block would be too small, or larger than its axis; or a program of no use."""
    sizes = dict(default.sizes)
    for axis, exponent in zip(default.varied, variant.sizes, strict=False):
        size = func.space[axis].constant
        changed = sizes[axis] << exponent if exponent >= 0 else sizes[axis] >> -exponent
        least = _LEAST.get(default.kind, 1)
        if changed < least or (
            exponent > 0 and size is not None and changed > power_of_two(max(least, size))
        ):
            return None
        sizes[axis] = changed
    warps = default.warps << variant.warps if variant.warps >= 0 else default.warps >> -variant.warps
    stages = default.stages + variant.stages
    if not 1 <= warps <= _MOST_WARPS or stages < 1:
        return None
    changed = replace(default, sizes=tuple(sizes.items()), warps=warps, stages=stages, descriptors=())
    if not default.describable:
        return None if variant.turns else changed
    if bool(default.descriptors) == variant.turns:
        return changed
    (product,) = matrix_products(func)  # several are by pointers
    return with_descriptors(func, product, changed)
