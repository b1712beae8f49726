"""order-factors: what tiles of a product would read element by element is copied in their order first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import dim
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import FACTORS, find_contraction
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..fusion.computed_again import compute_again
from ..fusion.contents import Bodies
from ..fusion.cost import MEMORY_BYTE_COST, count, extent
from ..fusion.inline import input_of
from ..fusion.repeats import LAUNCH, size_in_bytes
from ..fusion.unread import drop_unread
from ..fusion.worth import Memory
from ..kernels.body import merge_equal_inputs, permute_axes, plain_axis, simplify_body
from ..kernels.kernel_builder import KernelBuilder
from ..memory.memory_order import layout_of
from ..rewrite import may_rewrite, skip

_APART = 12
"""What it costs more to load an element by itself: its address, the load, to put it beside its neighbours."""

_VECTOR = 8
"""Halves of 16 bytes."""


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
    the other factor, of `tile` rows, loads them again: where these are few, a copy takes longer. All copies
    of a function are one launch (`group-launches`), which they shall save as well. Left alone is a factor
    with neighbours along its rows or columns, or along the sum, and what is computed. Where its rows, or
    columns, are several axes in another order than the factor has (that of a gradient of filters, as these
    lie), they are walked in the factor's order, and the result, which is stored once, is not stored in rows.
    """

    name = "order-factors"

    tile: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            kernels = [kernel for kernel in function.body.block.ops if isinstance(kernel, KernelOp)]
            for kernel in kernels:
                _order_axes(kernel, self.tile)
            found = [factor for kernel in kernels for factor in _factors(kernel, self.tile)]
            saved = sum(factor.saved for factor in found)
            for factor in found:
                if saved <= LAUNCH:
                    skip(factor.kernel, f"a factor stays as it lies: copies save {saved}", factor.tensor)
                elif may_rewrite(factor.kernel, "a factor is copied in the order of its tiles"):
                    factor.read_copy()


@dataclass(frozen=True)
class _Factor:
    """A tensor without neighbours beside each other, whose dimensions are walked along the axes `places`."""

    kernel: KernelOp
    load: LoadOp
    places: tuple[int, ...]
    order: tuple[int, ...]
    """The axes as tiles walk them, slowest first."""
    saved: int
    """What less work it is to read a copy of it, and to make that."""

    @property
    def tensor(self) -> SSAValue:
        return _tensor(self.kernel, self.load)

    def read_copy(self) -> None:
        """Let the kernel read a copy whose dimensions are the axes in order."""
        sizes = [self.kernel.space[axis] for axis in self.order]
        made = tensor_type(element_type_of(self.tensor), sizes)
        b = KernelBuilder(self.load.location, sizes, [self.tensor], [made])
        b.store(b.load(0, [dim(self.order.index(axis)) for axis in self.places]), b.axes)
        Rewriter.insert_op(b.kernel, InsertPoint.before(self.kernel))
        new = LoadOp.make(input_of(self.kernel, b.kernel.results[0]), [dim(axis) for axis in self.order])
        new.location = self.load.location
        Rewriter.insert_op(new, InsertPoint.before(self.load))
        self.load.result.replace_all_uses_with(new.result)
        tensor = self.tensor
        Rewriter.erase_op(self.load)
        merge_equal_inputs(self.kernel)
        _take_in(tensor, b.kernel)


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
    for side in _apart(kernel):
        axes = sorted(side.own, key=lambda axis: -side.steps[axis])
        stored = _APART * side.results
        if _in_reach(kernel, axes, side.steps) and stored < min(side.loaded(tile), side.copied):
            if may_rewrite(kernel, "its axes are walked as a factor lies"):
                moved = iter(axes)
                permute_axes(kernel, [next(moved) if a in side.own else a for a in range(len(kernel.space))])
            return


@dataclass(frozen=True)
class _Side:
    """A factor of a product, the axes of its rows, or columns, and of the sum; steps are in elements."""

    kernel: KernelOp
    load: LoadOp
    own: Axes
    over: Axes
    steps: Mapping[int, int]

    @property
    def places(self) -> tuple[int, ...] | None:
        """The axis of each dimension, if each has one, and all of it is read."""
        found = [axis for e in self.load.subscripts if (axis := plain_axis(e)) is not None]
        whole = tuple(self.kernel.space[axis] for axis in found) == sizes_of(_tensor(self.kernel, self.load))
        return tuple(found) if whole and frozenset(found) == self.own | self.over else None

    @property
    def results(self) -> int:
        """Elements of the product."""
        space = self.kernel.space
        return count([space[axis] for axis in range(len(space)) if axis not in self.over])

    def loaded(self, tile: int) -> int:
        """What it costs more to load it as it lies, by each tile of the other factor."""
        space = self.kernel.space
        others = count([n for axis, n in enumerate(space) if axis not in self.own | self.over])
        return _APART * count([space[axis] for axis in sorted(self.own | self.over)]) * -(-others // tile)

    @property
    def copied(self) -> float:
        """What a copy costs."""
        tensor = _tensor(self.kernel, self.load)
        return inf if self.places is None else 2 * size_in_bytes(tensor) * MEMORY_BYTE_COST


def _apart(kernel: KernelOp) -> Iterator[_Side]:
    """The factors of a product of halves whose tiles have no neighbours of memory beside each other."""
    product = find_contraction(kernel.body.block)
    if product is None or FACTORS not in product.reduce.attributes:
        return
    for factor, own in ((product.left, product.rows), (product.right, product.columns)):
        load = _loaded(factor)
        if load is None or (steps := _steps(kernel, load)) is None or steps.keys() != own | product.over:
            continue
        if not any(_in_reach(kernel, sorted(side), steps) for side in (own, product.over)):
            yield _Side(kernel, load, own, product.over, steps)


def _steps(kernel: KernelOp, load: LoadOp) -> dict[int, int] | None:
    """From one element to the next along each axis; None where that changes on the way, or with a symbol."""
    flat = layout_of(_tensor(kernel, load)).flat(load.subscripts)
    steps = {var.index: flat.coefficient(var) for var in flat.variables() if var.kind == "d"}
    known = {axis: step.constant for axis, step in steps.items() if step and step.constant is not None}
    return known if len(known) == len(flat.variables()) else None


def _in_reach(kernel: KernelOp, axes: Sequence[int], steps: Mapping[int, int]) -> bool:
    """Whether the elements of a tile along `axes`, the last one first, lie together by vectors."""
    run = 1
    for axis in reversed(axes):
        if (size := extent(kernel.space[axis])) > 1:
            if steps[axis] != run:
                break
            run *= size
    return run >= min(_VECTOR, count([kernel.space[axis] for axis in axes]))


def _factors(kernel: KernelOp, tile: int) -> Iterator[_Factor]:
    """Those of which a copy takes less time than to read them apart."""
    for side in _apart(kernel):
        if (places := side.places) is None:
            continue
        saved = side.loaded(tile) - side.copied
        if saved > 0:
            yield _Factor(kernel, side.load, places, (*sorted(side.own), *sorted(side.over)), round(saved))
        else:
            why = f"a factor stays as it lies: a copy costs {-saved:.0f} more than it saves"
            skip(kernel, why, _tensor(kernel, side.load))


def _loaded(factor: SSAValue) -> LoadOp | None:
    """The load that gives it, of halves that are widened."""
    widened = factor.owner
    load = widened.input.owner if isinstance(widened, arith.ExtFOp) else None
    return load if isinstance(load, LoadOp) and not load.dynamic and load.mask is None else None


def _tensor(kernel: KernelOp, load: LoadOp) -> SSAValue:
    return kernel.operands[list(kernel.sources).index(load.buffer)]
