"""What `schedule-gpu` decides about a function, kept in its attributes until it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.attributes import int64
from tilewright.dialects.tk.kernels import FuncOp

BLOCKS, GRID, PRODUCT, CANDIDATES = "tk.blocks", "tk.grid", "tk.product", "tk.candidates"
DESCRIPTORS = "tk.descriptors"
HALVES = "tk.halves"


@dataclass(frozen=True)
class Blocks:
    """How one function is cut into programs and tiles.

    In the text: `tk.blocks = array<i64: 0, 8, 1, 1024>, tk.grid = 1 : i64, tk.warps = 4 : i64,
    tk.stages = 1 : i64, tk.index = 32 : i64, tk.swizzle = 8 : i64, tk.product = "ieee",
    tk.descriptors = array<i64: 0, 1>`.
    """

    sizes: tuple[tuple[int, int], ...]
    """(axis, block size), outermost loop first."""
    grid: int
    """So many leading axes are program ids; the others are loops, of one step if the block covers them."""
    warps: int = 4
    stages: int = 1
    index: int = 32
    """Bits of offsets into buffers."""
    swizzle: int = 0
    """So many blocks of the last but one grid axis are done before the next block of the last."""
    product: str | None = None
    """The precision of the matrix product that this function is."""
    descriptors: tuple[int, ...] = ()
    """The numbers of the arguments that the sum of a product loads by tensor descriptor."""
    describable: tuple[int, ...] = ()
    """Those that it could load so, on a device that has descriptors; not in the text."""
    halves: bool = False
    """What follows the sums of a product is done for one half of a tile's columns, then for the other one."""
    kind: str = ""
    """The class of kernel, by which `variants` finds other choices; not in the text."""
    varied: tuple[int, ...] = ()
    """The axes whose blocks those choices vary; not in the text."""

    def attributes(self) -> dict[str, Attribute]:
        """The discardable attributes that say this; those from `tk.warps` on stay after `apply-schedule`."""
        found: dict[str, Attribute] = {
            BLOCKS: DenseArrayBase.from_list(i64, [n for pair in self.sizes for n in pair]),
            GRID: int64(self.grid),
            "tk.warps": int64(self.warps),
            "tk.stages": int64(self.stages),
            "tk.index": int64(self.index),
        }
        if self.swizzle > 1:
            found["tk.swizzle"] = int64(self.swizzle)
        if self.product is not None:
            found[PRODUCT] = StringAttr(self.product)
        if self.descriptors:
            found[DESCRIPTORS] = DenseArrayBase.from_list(i64, self.descriptors)
        if self.halves:
            found[HALVES] = UnitAttr()
        return found


def block_sizes(func: FuncOp) -> dict[int, int]:
    """The blocks of a function by axis, outermost loop first; none where it was given none."""
    if BLOCKS not in func.attributes:
        return {}
    flat = tuple(cast("DenseArrayBase[IntegerType]", func.attributes[BLOCKS]).get_values())
    return dict(zip(flat[::2], flat[1::2], strict=True))


def take_blocks(func: FuncOp) -> Blocks | None:
    """Read the blocks of a function and remove them and what else was possible; None where it has none.

    Other axes get blocks of one.
    """
    func.attributes.pop(CANDIDATES, None)
    if BLOCKS not in func.attributes:
        return None
    sizes = block_sizes(func)
    del func.attributes[BLOCKS]
    grid = cast("IntegerAttr[IntegerType]", func.attributes.pop(GRID, int64(0)))
    product = func.attributes.pop(PRODUCT, None)
    described = cast("DenseArrayBase[IntegerType] | None", func.attributes.pop(DESCRIPTORS, None))
    halves = func.attributes.pop(HALVES, None) is not None
    left = {a: 1 for a in range(len(func.space)) if a not in sizes}
    return Blocks(
        sizes=(*sizes.items(), *left.items()),
        grid=grid.value.data,
        product=product.data if isinstance(product, StringAttr) else None,
        descriptors=() if described is None else tuple(described.get_values()),
        halves=halves,
    )


def power_of_two(n: int) -> int:
    """The least power of two that is not below `n`."""
    return 1 << max(0, n - 1).bit_length()


def limited(block: int, size: Expr) -> int:
    """`block`, or the power of two that covers a smaller size."""
    return block if size.constant is None else min(block, power_of_two(max(1, size.constant)))


def covers(block: int, size: Expr) -> bool:
    """Whether one step of a loop is all; a loop over nothing has none."""
    return size.constant is not None and 1 <= size.constant <= block


def divides(block: int, size: Expr) -> bool:
    """Whether no step of a loop hangs over."""
    return (size % block).constant == 0
