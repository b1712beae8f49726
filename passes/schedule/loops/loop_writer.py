"""One loop over one axis: blocks, unrolled copies, single steps and the tail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim, minimum, product
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.compute import ReduceOp, ScanOp
from tilewright.dialects.tk.loops import ForOp, TailOp, YieldOp

from ..accumulate import sums_floats
from ..work import Carry, Work
from ..writer import Scope

if TYPE_CHECKING:
    from .nest import NestBuilder

_BLOCK = 64
"""Additions into one accumulator before it is added to the one outside."""
_LEVELS = 3
"""So many such accumulators are within each other at most."""

Body = Callable[[Scope, list[Carry]], None]
"""Writes one copy of a loop's body and leaves the new values in the carries."""


class LoopWriter:
    """Writes the loops of a nest builder."""

    def __init__(self, nests: NestBuilder) -> None:
        self.nests = nests
        self.plan = nests.plan
        self.writer = nests.writer
        self.partial = nests.partial
        self._next_axis = len(nests.space) + len(nests.plan.tiles)

    def write(self, scope: Scope, axis: int, rest: tuple[int, ...], work: Work) -> None:
        """Do `work` for all of `axis`; the carries of `work` then hold the results."""
        ops = self.nests.needed(scope, work)
        scans = [op for op in ops if isinstance(op, ScanOp) and op.along == axis]
        carries = [*work.carries, *(Carry(op, self.partial.start(scope, op)) for op in scans)]
        fused = 0 if carries else self._fused(scope, axis, rest, work)
        count = len(work.carries)

        def body(inner: Scope, running: list[Carry]) -> None:
            for op, carry in zip(scans, running[count:], strict=True):
                inner.running[op] = carry.values
            self._inside(inner, rest[max(fused - 1, 0) :], work, running[:count])
            for op, carry in zip(scans, running[count:], strict=True):
                carry.values = inner.running[op]

        if fused > 1:
            self._fused_loop(scope, (axis, *rest[: fused - 1]), body)
            return
        if self._rows(scope, axis, rest, work, carries):
            return
        copies = 1
        if carries and all(isinstance(c.op, ReduceOp) for c in carries):
            innermost = not any(self.nests.body.runs[op].intersection(rest) for op in ops)
            copies = self.plan.unroll if innermost else 1
        self._whole(scope, axis, copies, carries, body)

    def _inside(self, scope: Scope, rest: tuple[int, ...], work: Work, carries: list[Carry]) -> None:
        """The nest inside; a sum over further axes gets an accumulator of its own there."""
        own = [sums_floats(c.op) and not self._over(c).isdisjoint(rest) for c in carries]
        inner = [
            Carry(c.op, self.partial.start(scope, c.op) if mine else c.values)
            for c, mine in zip(carries, own, strict=True)
        ]
        self.nests.nest(scope, rest, work.with_carries(inner))
        for carry, new, mine in zip(carries, inner, own, strict=True):
            carry.values = (
                self.partial.join(scope, carry.op, carry.values, new.values) if mine else new.values
            )

    def _rows(self, scope: Scope, axis: int, rest: tuple[int, ...], work: Work, carries: list[Carry]) -> bool:
        """Where the loop only grows sums in arrays, several rows go into each at a time."""
        grows = [grow for grow in work.grows if axis in self.nests.body.over[grow.op]]
        if carries or work.effects or work.keeps or len(grows) != len(work.grows) or not grows:
            return False
        if axis >= len(self.nests.space) or any(
            not self.nests.body.over[g.op].isdisjoint(rest) for g in grows
        ):
            return False
        done, extent = scope.bounds.get(axis, (as_expr(0), self.nests.space[axis]))
        end = done + extent
        for n in (self.plan.unroll, 1) if self.plan.unroll > 1 else (1,):
            several = Work(grows=[replace(grow, rows=(axis, n)) for grow in grows])

            def body(inner: Scope, _: list[Carry], several: Work = several) -> None:
                self.nests.nest(inner, rest, several)

            upper = end - extent % n
            self._steps(scope, axis, (done, upper), n, 1, [], body)
            done = upper
        return True

    def _over(self, carry: Carry) -> frozenset[int]:
        return self.nests.body.over.get(carry.op, frozenset())

    # Parallel loops

    def _fused(self, scope: Scope, axis: int, rest: tuple[int, ...], work: Work) -> int:
        """So many leading axes form the parallel loop here."""
        leading = self.plan.order[: self.plan.parallel]
        if scope.depth or axis not in leading:
            return 0
        if any(a >= len(self.nests.space) for a in leading):
            return 1
        wanted = set(leading)
        whole = all(wanted <= self.nests.body.runs[op] for op in work.ops())
        return len(leading) if whole and (axis, *rest)[: len(leading)] == leading else 1

    def _fused_loop(self, scope: Scope, axes: tuple[int, ...], body: Body) -> None:
        """One parallel loop over the product of `axes`."""
        flat = self._fresh_axis()
        sizes = [self.nests.space[a] for a in axes]
        loop = ForOp.make(flat, 0, product(sizes), 1)
        inner = scope.inner(loop.body.block)
        for i, axis in enumerate(axes):
            place = dim(flat) // product(sizes[i + 1 :])
            inner.axes[Var("d", axis)] = place % sizes[i] if i else place
        self._mark_parallel(loop)
        self.writer.put_loop(scope, loop)
        body(inner, [])

    def _mark_parallel(self, loop: ForOp) -> None:
        loop.properties["parallel"] = UnitAttr()
        if self.plan.worth is not None:
            loop.properties["worth"] = map_attr((self.plan.worth,))

    def _fresh_axis(self) -> int:
        self._next_axis += 1
        return self._next_axis - 1

    # Loops over one axis

    def _whole(self, scope: Scope, axis: int, copies: int, carries: list[Carry], body: Body) -> None:
        if axis >= len(self.nests.space):
            self.tiles(scope, axis, carries, body)
            return
        start, extent = scope.bounds.get(axis, (as_expr(0), self.nests.space[axis]))
        step = self.plan.lanes if axis == self.plan.vector else 1
        done, block, sums = start, step * copies * _BLOCK, carries
        if copies > 1 and any(sums_floats(c.op) for c in carries) and _exceeds(extent, 4 * block):
            bounds = (start, start + extent - extent % block)
            done = self._blocks(scope, axis, bounds, block, step, copies, carries, body)
            if (extent % block).constant == 0:
                return
            sums = self._apart(scope, carries)
        for n in (copies, 1) if copies > 1 else (1,):
            upper = start + extent - extent % (step * n)
            self._steps(scope, axis, (done, upper), step, n, sums, body)
            done = upper
        if step > 1:
            self._tail(scope, axis, done, extent % step, sums, body)
        if sums is not carries:
            self._join(scope, carries, sums)

    def _apart(self, scope: Scope, carries: Sequence[Carry]) -> list[Carry]:
        """Accumulators that begin anew: few of what they add is small beside what there is."""
        return [Carry(c.op, self.partial.start(scope, c.op)) for c in carries]

    def _join(self, scope: Scope, carries: Sequence[Carry], parts: Sequence[Carry]) -> None:
        for carry, part in zip(carries, parts, strict=True):
            carry.values = self.partial.join(scope, carry.op, carry.values, part.values)

    def grouped(self, scope: Scope, axis: int, write: Callable[[Scope], None]) -> bool:
        """A loop over groups of tiles of `axis`, around what `write` writes for one, if there are many."""
        if axis < len(self.nests.space) or axis in self.plan.order[: self.plan.parallel]:
            return False
        real, tile = self.plan.tiles[axis - len(self.nests.space)]
        size, most = self.nests.space[real], _BLOCK * tile
        if axis in scope.bounds or not _exceeds(size, 4 * most):
            return False
        groups = self._fresh_axis()

        def group(inner: Scope, _: list[Carry]) -> None:
            inner.bounds[axis] = (dim(groups), minimum(most, size - dim(groups)))
            write(inner)

        self._steps(scope, groups, (as_expr(0), size), most, 1, [], group)
        return True

    def tiles(self, scope: Scope, axis: int, carries: list[Carry], body: Body) -> None:
        """A loop over the tiles of an axis."""
        real, tile = self.plan.tiles[axis - len(self.nests.space)]
        size = self.nests.space[real]
        first, count = scope.bounds.get(axis, (as_expr(0), size))
        fits = (size % tile).constant == 0
        extent = as_expr(tile) if fits else minimum(tile, size - dim(axis))

        def in_tile(inner: Scope, running: list[Carry]) -> None:
            inner.bounds[real] = (dim(axis), extent)
            body(inner, running)

        self._steps(scope, axis, (first, first + count), tile, 1, carries, in_tile)

    def counted(self, scope: Scope, bounds: tuple[Expr, Expr], carries: list[Carry], body: Body) -> None:
        """A plain loop over a new axis, `last_axis`."""
        self._steps(scope, self._fresh_axis(), bounds, 1, 1, carries, body)

    @property
    def last_axis(self) -> int:
        return self._next_axis - 1

    def each(self, scope: Scope, axes: Sequence[int], write: Callable[[Scope], None]) -> None:
        """Loops over `axes` around what `write` writes."""
        if not axes:
            write(scope)
            return
        self._whole(scope, axes[0], 1, [], lambda inner, _: self.each(inner, axes[1:], write))

    def _blocks(
        self,
        scope: Scope,
        axis: int,
        bounds: tuple[Expr, Expr],
        block: int,
        step: int,
        copies: int,
        carries: list[Carry],
        body: Body,
    ) -> Expr:
        """Sums of `block` elements at a time, and sums of these, so that rounding errors do not pile up."""
        size, blocks = bounds[1] - bounds[0], [block]
        while len(blocks) < _LEVELS and _exceeds(size, 4 * _BLOCK * blocks[-1]):
            blocks.append(_BLOCK * blocks[-1])

        def sum_up(at: Scope, within: tuple[Expr, Expr], blocks: Sequence[int], sums: list[Carry]) -> None:
            if not blocks:
                self._steps(at, axis, within, step, copies, sums, body)
                return
            outer, (*smaller, largest) = self._fresh_axis(), blocks
            end = dim(outer) + largest
            end = end if (size % largest).constant == 0 or not smaller else minimum(end, bounds[1])

            def one_block(inner: Scope, running: list[Carry]) -> None:
                parts = self._apart(inner, running)
                sum_up(inner, (dim(outer), end), smaller, parts)
                self._join(inner, running, parts)

            self._steps(at, outer, within, largest, 1, sums, one_block)

        sum_up(scope, bounds, blocks, carries)
        return bounds[1]

    def _steps(
        self,
        scope: Scope,
        axis: int,
        bounds: tuple[Expr, Expr],
        step: int,
        copies: int,
        carries: list[Carry],
        body: Body,
    ) -> None:
        """A loop whose body is written `copies` times, with accumulators of their own."""
        if ((bounds[1] - bounds[0]).constant or 1) <= 0 or not bounds[1] - bounds[0]:
            return
        groups = [carries]
        for _ in range(copies - 1):
            groups.append(self._apart(scope, carries))
        inits = [value for group in groups for carry in group for value in carry.values]
        loop = ForOp.make(axis, *bounds, step * copies, inits)
        if scope.depth == 0 and not carries and axis in self.plan.order[: self.plan.parallel]:
            self._mark_parallel(loop)
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        inner.vectors = scope.vectors or axis == self.plan.vector
        args = iter(loop.body.block.args)
        yielded: list[SSAValue] = []
        for i, group in enumerate(groups):
            copy = inner.beside() if copies > 1 else inner
            if i:
                copy.axes[Var("d", axis)] = dim(axis) + i * step
            running = [Carry(c.op, tuple(next(args) for _ in c.values)) for c in group]
            body(copy, running)
            yielded += [value for carry in running for value in carry.values]
        self._close(loop, yielded)
        results = iter(loop.res)
        for group in groups:
            for carry in group:
                carry.values = tuple(next(results) for _ in carry.values)
        for group in groups[1:]:
            self._join(scope, carries, group)

    def _tail(
        self, scope: Scope, axis: int, start: Expr, count: Expr, carries: list[Carry], body: Body
    ) -> None:
        """The lanes that are left over."""
        if count.constant == 0:
            return
        loop = TailOp.make(axis, start, count, [v for c in carries for v in c.values])
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        inner.vectors = inner.tail = True
        args = iter(loop.body.block.args)
        running = [Carry(c.op, tuple(next(args) for _ in c.values)) for c in carries]
        body(inner, running)
        self._close(loop, [value for carry in running for value in carry.values])
        results = iter(loop.res)
        for carry in carries:
            carry.values = tuple(next(results) for _ in carry.values)

    def _close(self, loop: ForOp | TailOp, values: Sequence[SSAValue]) -> None:
        if values:
            end = YieldOp.create(operands=values)
            end.location = loop.location
            loop.body.block.add_op(end)


def _exceeds(size: Expr, limit: int) -> bool:
    """False only where the size is known to be at most `limit`."""
    most = Bounds(()).upper(size)
    return most is None or most.constant is None or most.constant > limit
