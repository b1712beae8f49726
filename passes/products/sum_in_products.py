"""Pass `sum-in-products`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import OpResult
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, Expr, Var, as_expr
from tilewright.dialects.index_expr.shapes import linearize, row_major_strides, static_product
from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.arith import ROUNDED
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS, OF_TILE, Contraction, find_contraction
from tilewright.dialects.tk.domain import Axes, axes_of_exprs, is_along, levels_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.types import sizes_of

from ..fusion.contents import Bodies
from ..fusion.match import Match, Undo, match
from ..fusion.merge import merge, users_to_sink
from ..kernels.body import loads_of, simplify_body, store_to
from ..kernels.facts import Body
from ..kernels.naming import NAME, name_of, words_of
from ..kernels.one_axis import one_axis
from ..reductions.parts_of_sums import Split, Splittable, reduces_in_parts, stores_beside
from ..reductions.same_rows import readers_of_rows
from ..reductions.split_kernels import split
from ..rewrite import may_rewrite, skip
from ..schedule.blocks import divides
from ..schedule.cost import estimate
from .leave_products import is_left


@dataclass(frozen=True)
class SumInProductsPass(ModulePass):
    """Reduce the rows of a product in the programs that make them; a second kernel adds up the parts.

    Before (the gradient of a bias):
        %y = tk.kernel [1024, 768, 512] ins(%x, %w : ...) -> (tensor<1024x768xbf16>)
            {... tk.reduce add %p over [2] {tk.factors = bf16} ... tk.store %v, %o[d0, d1] ...}
        %s = tk.kernel [768, 1024] ins(%y : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [1] ...}
    After:
        %p, %y = tk.kernel [768, 16, 64, 512] ins(%x, %w : ...) -> (tensor<16x768xf32>, tensor<1024x768xbf16>)
            {... tk.reduce add %p over [3] {tk.factors = bf16} ... tk.store %v, %o[d1*64 + d2, d0] ...
             tk.reduce add %v over [2] {tk.of_tile} ...}
        %s = tk.kernel [768, 16] ins(%p : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [1] ...}

    So are the statistics of a norm over rows of pixels, and what its gradient sums: the result of a product
    is read once less. Where others read it, it is reduced as they do, rounded. A part is what a tile has of
    rows, which `schedule-gpu` gives the program; the last one of many rows may have fewer. Left alone are
    products of few rows that make no whole tiles; that are summed in parts themselves for there being few
    tiles (`split-reductions`); that a library would multiply (`leave-products`), but for short sums; and what
    would read many tiles beside, or what a kernel can sum that reads all of it anyway (`sum-at-source`). What
    meets the result of a reduction again, as a sum of exponentials below the largest does, waits for all
    tiles and is no part of them.
    """

    name = "sum-in-products"

    programs: int = 128

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                # one that is part of another by now has no parent
                if kernel.parent is not None and (found := find_contraction(kernel.body.block)) is not None:
                    _reduce(kernel, found, self.programs)


_PARTS = (128, 64, 32)
"""Rows of a tile."""
_MANY = 512
"""So many that it does not matter if the last tile is not whole."""
_BESIDE = 64
"""Columns of one where so many programs are wanted."""
_LEAST = 16
"""Of columns, and of products that a sum adds: matrix units take no fewer."""
_TILES = 2
"""Tensors of the size of the result that are read beside it: more leave no room for a tile of worth."""
_SHORT = 1024
"""Products that a sum adds: kernels of ours are no slower than a library's where memory is waited for."""


def _reduce(product: KernelOp, found: Contraction, programs: int) -> None:
    """Take in what reduces the rows, or the columns, of what `product` stores."""
    users = {use.operation for result in product.results for use in result.uses}
    readers = {op for op in users if isinstance(op, KernelOp) and _only_reduces(op)}
    if not readers or not _only_stores(product):
        return
    if (why := _declined(product, found, programs)) is not None:
        return skip(product, f"what it makes is reduced elsewhere: {why}")
    block = product.parent_block()
    assert block is not None
    taken = _Taken(product)
    for reader in [op for op in block.ops if op in readers]:
        assert isinstance(reader, KernelOp)
        others = [other for other, _ in readers_of_rows(reader) if other not in readers]
        if any(_read_beside(reader, other) == 0 for other in others):
            skip(reader, "not reduced where a product makes it: another kernel reads all that it does")
        elif (why := taken.take(reader)) is not None:
            # of the kernel as it is now: `product` has become part of it if a reader before was taken
            read = next(value for value in reader.operands if value.owner is taken.kernel)
            skip(reader, f"not reduced where a product makes it: {why}", read)
    if taken.kernel is not product:
        _in_parts(taken, programs)


def _only_stores(kernel: KernelOp) -> bool:
    """Whether all that it does is to store, each element once."""
    effects = [op for op in kernel.body.block.ops if not op.results]
    once = all(isinstance(op, StoreOp) and not op.scatters for op in effects)
    return once and not kernel.attributes.keys() - {NAME}


def _only_reduces(kernel: KernelOp) -> bool:
    """Whether it reduces along some axes, and nothing there meets the results, scans or sorts."""
    ops = ops_of(kernel.body.block)
    found = [op for op in ops if reduced_axes(op)]
    over = {reduced_axes(op) for op in found}
    if len(over) != 1 or not all(isinstance(op, ReduceOp | MomentsOp) for op in found):
        return False
    if any(map(is_along, ops)):
        return False
    if not _only_stores(kernel) or find_contraction(kernel.body.block) is not None:
        return False
    if max(levels_of(kernel.body.block).values()) > 1:  # a sum of what its largest is subtracted from, say
        return False
    return stores_beside(kernel, Body.of(kernel.body.block), frozenset(*over)) is not None


def _declined(product: KernelOp, found: Contraction, programs: int) -> str | None:
    """Why `product` stays as it is, whatever reads it."""
    if FACTORS not in found.reduce.attributes:
        return "its factors are no halves"
    rows, columns, depth = (
        static_product([product.space[a] for a in axes]) for axes in (found.rows, found.columns, found.over)
    )
    if depth is None or (rows is None and columns is None):
        return "sizes are symbolic"
    if min(size for size in (rows, columns, depth) if size is not None) < _LEAST:
        return "matrix units do not make it"
    if reduces_in_parts(product, 2 * programs):
        return "it is summed in parts itself"
    return "a library multiplies" if is_left(product) and depth > _SHORT else None


@dataclass
class _Taken:
    """A product, and what was taken in so far."""

    kernel: KernelOp
    read: int = 0
    """Tensors of the size of the result that are read for it."""
    words: list[str] = field(default_factory=list[str])
    """Of the names of what was taken, which the second kernel gets."""
    bodies: Bodies = field(default_factory=Bodies)

    def take(self, reader: KernelOp) -> str | None:
        """Make one kernel of both; why not."""
        if self._reduced(reader):
            return "it reads what is reduced there"
        undo: Undo = {}
        found = match(self.kernel, reader, self.bodies, undo, _complete)
        sunk = found if isinstance(found, str) else users_to_sink(self.kernel, reader)
        read = self.read + _read_beside(reader, self.kernel)
        rows = static_product([reader.space[a] for a in self.bodies.of(reader).reduced])
        why = sunk if isinstance(sunk, str) else _too_much(rows, read)
        if (
            why is None
            and isinstance(found, Match)
            and may_rewrite(reader, "reduced where a product makes it")
        ):
            assert not isinstance(sunk, str)
            self.read = read
            self.words += words_of(reader)
            for op in reader.body.block.ops:
                if reduced_axes(op):
                    op.attributes[OF_TILE] = UnitAttr()
            self._round(reader)
            self.kernel = merge(self.kernel, reader, self.bodies, found, sunk)
            return None
        for changed, restore in undo.items():
            restore()
            self.bodies.changed(changed)
        return why

    def _round(self, reader: KernelOp) -> None:
        """Let `reader` reduce what others load: a mean of something else is not theirs.

        Rows that are all alike are that far from the mean that their norm makes it large.
        """
        for value in reader.operands:
            if isinstance(value, OpResult) and value.op is self.kernel and not value.has_one_use():
                store = store_to(self.kernel.destinations[value.index])
                if store is not None and isinstance(store.value.owner, arith.TruncFOp):
                    store.value.owner.attributes[ROUNDED] = UnitAttr()

    def _reduced(self, reader: KernelOp) -> bool:
        """Whether it reads what the kernel reduces to, which is there when all tiles are done."""
        product = self.bodies.of(self.kernel).contraction
        assert product is not None
        for value in reader.operands:
            if isinstance(value, OpResult) and value.op is self.kernel:
                store = store_to(self.kernel.destinations[value.index])
                if store is None or not product.tile <= axes_of_exprs(store.subscripts):
                    return True
        return False


def _complete(producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]) -> Match | str:
    """The consumer reads all that is not summed by the product, and reduces all rows of it or all columns."""
    product = bodies.of(producer).contraction
    assert product is not None
    read, reduced = {*axes.values()}, bodies.of(consumer).reduced
    if any(size != ONE and c not in read for c, size in enumerate(consumer.space)):
        return "it is read again and again"
    own = [a for a in range(len(producer.space)) if a not in axes]
    if any(producer.space[a] != ONE and a not in product.over for a in own):
        return "one of its axes is not read"
    axes |= {a: len(consumer.space) + i for i, a in enumerate(own)}
    sides = (product.tile,) if product.tile else (product.rows, product.columns)
    if reduced not in [frozenset(axes[a] for a in side) for side in sides]:
        return "neither all rows nor all columns are reduced"
    return Match(axes, (*consumer.space, *(producer.space[a] for a in own)), reduced)


def _too_much(rows: int | None, read: int) -> str | None:
    if rows is not None and (rows <= _PARTS[-1] or (rows % _PARTS[-1] and rows < _MANY)):
        return f"{rows} make no whole tiles"
    return f"{read} tiles would be read beside" if read > _TILES else None


def _read_beside(reader: KernelOp, product: KernelOp) -> int:
    """How many tensors `reader` reads along all of its axes that `product` neither makes nor reads."""
    known = {*product.results, *product.operands}
    along = frozenset(a for a, size in enumerate(reader.space) if size != ONE)
    inputs = zip(reader.operands, reader.sources, strict=True)
    others = [source for value, source in inputs if value not in known]
    return sum(any(along <= axes_of_exprs(op.subscripts) for op in loads_of(source)) for source in others)


def _in_parts(taken: _Taken, programs: int) -> None:
    """Two kernels: one reduces tiles, the other one what the tiles hand on."""
    kernel = taken.kernel
    found = taken.bodies.of(kernel).contraction
    assert found is not None
    number = one_axis(kernel, _slowest_first(kernel, found.tile))
    simplify_body(kernel)
    body = Body.of(kernel.body.block)
    (axis,), walked = {number[a] for a in found.tile}, tuple(sorted(number[a] for a in found.over))
    kept = tuple(a for a in range(len(kernel.space)) if a != axis and a not in walked)
    length = _rows_of_tile(kernel.space[axis], [kernel.space[a] for a in kept], programs)
    reductions = tuple(op for op in body.ops if isinstance(op, Splittable) and OF_TILE in op.attributes)
    beside = tuple(
        op
        for op in body.sinks()
        if isinstance(op, StoreOp) and {*reductions}.isdisjoint(body.closure([op], ()))
    )
    count, even = (kernel.space[axis] + (length - 1)) // length, divides(length, kernel.space[axis])
    plan = Split(reductions, axis, kept, (), count, as_expr(length), even=even, beside=beside, walked=walked)
    _, rest = split(kernel, body, plan)
    rest.attributes[NAME] = name_of(taken.words)


def _rows_of_tile(size: Expr, others: Sequence[Expr], programs: int) -> int:
    """The most of `size` rows of which tiles are whole, or hang over but little, and still `programs`."""
    rows = estimate(size)
    columns = prod(map(estimate, others))
    fitting = [n for n in _PARTS if divides(n, size) and rows > n]
    if (rows >= _MANY or size.constant is None) and not any(n > _PARTS[-1] for n in fitting):
        fitting = [*_PARTS]
    many = (n for n in fitting if rows // n * max(1, columns // _BESIDE) >= programs)
    return next(many, fitting[-1])


def _slowest_first(kernel: KernelOp, axes: Axes) -> list[int]:
    """`axes` in the order in which the first result that has all of them lies."""
    for destination in kernel.destinations:
        store = store_to(destination)
        if store is not None and axes <= axes_of_exprs(store.subscripts):
            flat = linearize(store.subscripts, row_major_strides(sizes_of(destination)))
            steps = {a: flat.coefficient(Var("d", a)) for a in axes}
            known = {a: step.constant or 0 for a, step in steps.items() if step is not None}
            return sorted(axes, key=lambda a: (-known.get(a, 0), a))
    return sorted(axes)
