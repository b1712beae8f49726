"""order-factors: what tiles of a product would read element by element is copied in their order first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import dim
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..fusion.computed_again import compute_again
from ..fusion.contents import Bodies
from ..fusion.inline import input_of
from ..fusion.repeats import LAUNCH
from ..fusion.unread import drop_unread
from ..fusion.worth import Memory
from ..kernels.body import merge_equal_inputs, permute_axes, simplify_body
from ..kernels.kernel_builder import KernelBuilder
from ..rewrite import may_rewrite, skip
from .factors_apart import APART, Side, factors_apart, in_reach


@dataclass(frozen=True)
class OrderFactorsPass(ModulePass):
    """Copy a factor of a product of halves that has no neighbours of a tile beside each other in memory.

    Before (filters of a convolution, of which the sum takes channels last, as images have them):
        %r = tk.kernel [392, 768, 2, 2, 384] ins(%x, %w : ..., tensor<768x384x2x2xbf16>) ... {
          %1 = tk.load %b[d1, d4, d2, d3] ...
    After:
        %f = tk.kernel [768, 2, 2, 384] ins(%w : tensor<768x384x2x2xbf16>) -> (tensor<768x2x2x384xbf16>) {
          %0 = tk.load %a[d0, d3, d1, d2]
          tk.store %0, %o[d0, d1, d2, d3]
        }
        %r = tk.kernel [392, 768, 2, 2, 384] ins(%x, %f : ..., tensor<768x2x2x384xbf16>) ... {
          %1 = tk.load %b[d1, d2, d3, d4] ...

    Matrix units take tiles from asynchronous copies of 16 bytes, which single elements are not. Each tile of
    the other factor, of `tile` rows, loads them again: where these are few, a copy takes longer. Products
    that walk a factor in the same order share it. All copies of a function are one launch (`group-launches`),
    which they shall save as well. Left alone is a factor with neighbours along its rows or columns, or along
    the sum, and what is computed. Where its rows, or columns, are several axes in another order than the
    factor has (that of a gradient of filters, as these lie), they are walked in the factor's order, and the
    result, which is stored once, is not stored in rows.
    """

    name = "order-factors"

    tile: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            kernels = [kernel for kernel in function.body.block.ops if isinstance(kernel, KernelOp)]
            for kernel in kernels:
                _order_axes(kernel, self.tile)
            found = _copies(kernels, self.tile)
            saved = sum(copy.saved for copy in found)
            for copy in found:
                if saved > LAUNCH:
                    _read_copy(copy)
                    continue
                for reader in copy.readers:
                    skip(reader.kernel, f"a factor stays as it lies: copies save {saved}", copy.tensor)


@dataclass(frozen=True)
class _Copy:
    """A tensor without neighbours beside each other, in the order in which tiles of its readers walk it."""

    tensor: SSAValue
    order: tuple[int, ...]
    """Its dimensions, slowest first."""
    readers: tuple[Side, ...]
    saved: int
    """What less work it is to read the copy, and to make that."""


def _read_copy(copy: _Copy) -> None:
    """Let the products read one copy."""
    why = "a factor is copied in the order of its tiles"
    readers = [reader for reader in copy.readers if may_rewrite(reader.kernel, why)]
    if not readers:
        return
    every = sizes_of(copy.tensor)
    sizes = [every[place] for place in copy.order]
    made = tensor_type(element_type_of(copy.tensor), sizes)
    b = KernelBuilder(readers[0].load.location, sizes, [copy.tensor], [made])
    b.store(b.load(0, [dim(copy.order.index(place)) for place in range(len(every))]), b.axes)
    Rewriter.insert_op(b.kernel, InsertPoint.before(readers[0].kernel))
    for reader in readers:
        kernel, load = reader.kernel, reader.load
        new = LoadOp.make(input_of(kernel, b.kernel.results[0]), [dim(axis) for axis in reader.order])
        new.location = load.location
        Rewriter.insert_op(new, InsertPoint.before(load))
        load.result.replace_all_uses_with(new.result)
        Rewriter.erase_op(load)
        merge_equal_inputs(kernel)
    _take_in(copy.tensor, b.kernel)


def _take_in(value: SSAValue, copy: KernelOp) -> None:
    """Let `copy` make what another kernel makes for nobody else: a cast is stored in that order."""
    maker = value.owner
    if isinstance(maker, KernelOp) and isinstance(value, OpResult) and value.has_one_use():
        if compute_again(value, copy, Bodies(), Memory(1, far=True)) is None:
            copy.attributes.update(maker.attributes)
            drop_unread(maker)
    simplify_body(copy)


def _order_axes(kernel: KernelOp, tile: int) -> None:
    """Walk rows, or columns, as a factor lies, where that takes less time than to store in its order."""
    for side in factors_apart(kernel):
        axes = sorted(side.own, key=lambda axis: -side.steps[axis])
        stored = APART * side.results
        if in_reach(kernel, axes, side.steps) and stored < min(side.loaded(tile), side.copied):
            if may_rewrite(kernel, "its axes are walked as a factor lies"):
                moved = iter(axes)
                permute_axes(kernel, [next(moved) if a in side.own else a for a in range(len(kernel.space))])
            return


def _copies(kernels: Sequence[KernelOp], tile: int) -> list[_Copy]:
    """Those that take less time than to read factors apart, whichever products read one in the same order."""
    found: dict[tuple[SSAValue, tuple[int, ...]], list[Side]] = {}
    for side in (side for kernel in kernels for side in factors_apart(kernel)):
        if (places := side.places) is not None:
            order = tuple(places.index(axis) for axis in side.order)
            found.setdefault((side.tensor, order), []).append(side)
    copies: list[_Copy] = []
    for (tensor, order), readers in found.items():
        saved = sum(side.loaded(tile) for side in readers) - readers[0].copied
        if saved > 0:
            copies.append(_Copy(tensor, order, tuple(readers), round(saved)))
            continue
        why = f"a factor stays as it lies: a copy costs {-saved:.0f} more than it saves"
        for side in readers:
            skip(side.kernel, why, tensor)
    return copies
