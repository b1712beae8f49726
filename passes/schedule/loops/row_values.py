"""What chained products hold of one block of rows, with a row in each lane, and the products themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, Var, as_expr, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.loops import ForOp, YieldOp

from ...kernels.chains import Chain, Factors, Outer
from ...kernels.combine import combine, identity
from ..writer import Known, Scope
from .row_tiles import RowTiles

_SIDE = 4
"""Elements of the chain, or columns, of one tile of sums in registers."""
_NO_FLAGS = arith.FastMathFlagsAttr("none")
Elements = Callable[[Scope, Expr, Sequence[SSAValue]], list[SSAValue]]
"""Writes what is done at one element of the chain; takes and gives what is carried from one to the next."""


class Values:
    """Scratch for a block of rows, and what one block of the chain, from `begin` on, does with it."""

    begin: Expr
    size: Expr

    def __init__(
        self, tiles: RowTiles, scope: Scope, chain: Chain, step: int, checks: Sequence[Operation]
    ) -> None:
        self.tiles = tiles
        self.writer = tiles.writer
        self.body = tiles.body
        self.chain = chain
        self.step = step
        self.checks = checks
        self.lefts = {f: tiles.fill_left(scope, f) for f in chain.inner}
        self.sums = {o: self._start(scope, o) for o in chain.outer}
        self.scales = {o.shift: tiles.local(scope, tiles.rows) for o in chain.outer if o.shift is not None}
        self.made: dict[SSAValue, SSAValue] = {}
        self.factors: dict[Outer, SSAValue] = {}
        self._share(scope)
        staged = [f for f in chain.products if not _is_plain(f.right)]
        self.staged = {f: tiles.local(scope, tiles.space[f.axis] * step) for f in staged}

    def _start(self, scope: Scope, outer: Outer) -> SSAValue:
        """Scratch of nothing yet."""
        self.writer.location = outer.reduce.location
        columns = as_expr(1) if outer.factors is None else self.tiles.space[outer.factors.axis]
        local = self.tiles.local(scope, columns * self.tiles.rows)
        nothing = self.writer.widen(scope, self.writer.constant(identity(outer.reduce.kind.data, f32)))
        loop = ForOp.make(self.tiles.fresh(), 0, columns, 1)
        self.writer.put_loop(scope, loop)
        for j in self.tiles.vectors():
            inner = scope.inner(loop.body.block)
            self.tiles.write(inner, local, nothing, _place_of(loop), j)
        return local

    def _share(self, scope: Scope) -> None:
        """Scratch for scores, for what their maximum is of, and for factors of outer products.

        One is written over another that nobody reads later: each element is read before it is written.
        """
        products = [f.reduce.result for f in self.chain.inner]
        peaks = [o.reduce.value for o in self.chain.outer if o.reduce.kind.data == "max"]
        saved = dict.fromkeys([*products, *peaks])
        later = self._read_later(scope, frozenset(saved))
        free: list[SSAValue] = []
        for value in saved:
            self.made[value] = free.pop() if free else self.tiles.local(scope, self.step * self.tiles.rows)
            if value not in later and value in products:
                free.append(self.made[value])
        free += [self.made[v] for v in saved if v in later]
        for outer in self.chain.outer:
            if outer.factors is not None:
                local = free.pop() if free else self.tiles.local(scope, self.step * self.tiles.rows)
                self.factors[outer] = local

    def _read_later(self, scope: Scope, saved: frozenset[SSAValue]) -> set[SSAValue]:
        """What of `saved` is read once the maxima are known."""
        wanted = self.wanted()
        sinks = [v.owner for v in wanted if v not in saved and isinstance(v.owner, Operation)]
        ops = self.body.closure([*sinks, *self.checks], Known(scope, saved))
        return {v for v in saved if v in wanted or any(v in op.operands for op in ops)}

    def wanted(self) -> list[SSAValue]:
        """What is computed of each element once the maxima are known."""
        others = [o for o in self.chain.outer if o.reduce.kind.data != "max"]
        return [o.reduce.value if o.factors is None else o.factors.left for o in others]

    # Elements and vectors

    def each_vector(self, scope: Scope, write: Callable[[Scope, Expr], None]) -> None:
        """A loop over the vectors of the block."""
        tiles, j = self.tiles, ZERO
        inner = scope.beside()
        if tiles.rows > tiles.lanes:
            loop = ForOp.make(tiles.fresh(), 0, tiles.rows, tiles.lanes)
            self.writer.put_loop(scope, loop)
            inner, j = scope.inner(loop.body.block), _place_of(loop)
        inner.axes[Var("d", tiles.row)] = tiles.first + dim(tiles.row) + j
        write(inner, j)

    def each_element(
        self,
        scope: Scope,
        values: Sequence[SSAValue],
        starts: Sequence[SSAValue],
        write: Elements,
        j: Expr,
        saved: Collection[SSAValue],
        checks: Sequence[Operation] = (),
    ) -> list[SSAValue]:
        """A loop over the block of the chain, at each element of which `values` are known.

        Those of `saved` are in scratch; what is the same for all is computed in `scope`, in front of it.
        """
        sinks = [v.owner for v in values if v not in saved and isinstance(v.owner, Operation)]
        needed = self.body.closure([*sinks, *checks], Known(scope, frozenset(saved)))
        read = [v for v in saved if v in values or any(v in op.operands for op in needed)]
        changing = set(read)
        inside: list[Operation] = []
        for op in needed:
            if self.chain.along in self.body.runs[op] or not changing.isdisjoint(op.operands):
                changing.update(op.results)
                inside.append(op)
            else:
                self.writer.copy(scope, op)
        loop = ForOp.make(self.tiles.fresh(), 0, self.size, 1, starts)
        self.writer.put_loop(scope, loop)
        inner, t = scope.inner(loop.body.block), _place_of(loop)
        inner.axes[Var("d", self.chain.along)] = self.begin + t
        for value in read:
            inner.env[value] = self.tiles.read(inner, self.made[value], t, j)
        for op in inside:
            self.writer.copy(inner, op)
        if ends := write(inner, t, loop.body.block.args):
            self.writer.put(inner, YieldOp.create(operands=ends))
        return list(loop.res)

    # Products

    def multiply_inner(self, scope: Scope, f: Factors) -> None:
        """The product of a block of the chain and all rows, into scratch."""
        size, made = self.tiles.space[f.axis], self.made[f.reduce.result]
        self._fill_stage(scope, f)

        def right(inner: Scope, i: Expr, s: Expr) -> SSAValue:
            return self._scalar(inner, f, i, s)

        def finish(inner: Scope, i: Expr, j: int, total: SSAValue) -> None:
            self.tiles.write(inner, made, total, i, j)

        self._multiply(scope, f, (self.size, size), self.lefts[f], right, finish)

    def multiply_outer(self, scope: Scope, outer: Outer) -> None:
        """What a block of the chain adds to a product along it."""
        f, sums = outer.factors, self.sums[outer]
        assert f is not None
        self._fill_stage(scope, f)

        def right(inner: Scope, i: Expr, s: Expr) -> SSAValue:
            return self._scalar(inner, f, s, i)

        def finish(inner: Scope, i: Expr, j: int, total: SSAValue) -> None:
            old = self.tiles.read(inner, sums, i, j)
            if outer.shift is not None:
                scale = self.tiles.read(inner, self.scales[outer.shift], 0, j)
                old = self.emit(inner, arith.MulfOp, old, scale)
            new = self.combined(inner, "add", total, old)
            self.tiles.write(inner, sums, new, i, j)

        extents = self.tiles.space[f.axis], self.size
        self._multiply(scope, f, extents, self.factors[outer], right, finish)

    def _multiply(
        self,
        scope: Scope,
        f: Factors,
        extents: tuple[Expr, Expr],
        left: SSAValue,
        right: Callable[[Scope, Expr, Expr], SSAValue],
        finish: Callable[[Scope, Expr, int, SSAValue], None],
    ) -> None:
        """Sums over the second extent, for each of the first and all rows: tiles of them in registers."""
        done, (extent, length), zero = ZERO, extents, self.writer.constant(FloatAttr(0.0, f32))
        for side in (_SIDE, 1):
            end = extent - extent % side
            if (end - done).constant == 0:
                continue
            self.writer.location = f.reduce.location
            loop = ForOp.make(self.tiles.fresh(), done, end, side)
            self.writer.put_loop(scope, loop)
            inner, vectors = scope.inner(loop.body.block), self.tiles.vectors()
            starts = [self.writer.widen(inner, zero)] * (side * len(vectors))
            sums = ForOp.make(self.tiles.fresh(), 0, length, 1, starts)
            self.writer.put_loop(inner, sums)
            step, s = inner.inner(sums.body.block), _place_of(sums)
            lefts = [self.tiles.read(step, left, s, j) for j in vectors]
            totals: list[SSAValue] = []
            for i in range(side):
                factor = self.writer.widen(step, right(step.beside(), _place_of(loop) + i, s))
                self.writer.location = f.reduce.location
                for vector in lefts:
                    term = self.emit(step, arith.MulfOp, vector, factor)
                    old = sums.body.block.args[len(totals)]
                    totals.append(self.combined(step, "add", old, term))
            self.writer.put(step, YieldOp.create(operands=totals))
            for n, total in enumerate(sums.res):
                i, k = divmod(n, len(vectors))
                finish(inner, _place_of(loop) + i, vectors[k], total)
            done = end

    def _fill_stage(self, scope: Scope, f: Factors) -> None:
        if (local := self.staged.get(f)) is not None:
            self.tiles.stage(scope, f.right, f.axis, self.begin, self.size, local)

    def _scalar(self, scope: Scope, f: Factors, element: Expr, place: Expr) -> SSAValue:
        """The right factor of one element of the chain, at a place of its other axis."""
        self.writer.location = f.right.owner.location if isinstance(f.right.owner, Operation) else None
        if (local := self.staged.get(f)) is not None:
            at = element * self.tiles.space[f.axis] + place
            return self.writer.put(scope, LoadOp.make(local, (at,), result_type=f32))
        scope.axes |= {Var("d", self.chain.along): self.begin + element, Var("d", f.axis): place}
        assert isinstance(f.right.owner, Operation)
        for op in self.body.closure([f.right.owner], Known(scope)):
            self.writer.copy(scope, op)
        return self.writer.value(scope, f.right)

    def combined(self, scope: Scope, kind: str, old: SSAValue, new: SSAValue) -> SSAValue:
        """One step of a reduction."""
        return combine(kind, old, new, lambda op: self.writer.put(scope, op))

    def emit(self, scope: Scope, op: type[Operation], *operands: SSAValue) -> SSAValue:
        """Arithmetic on values of one type."""
        return self.writer.put(
            scope,
            op.create(operands=operands, result_types=[operands[0].type], properties={"fastmath": _NO_FLAGS}),
        )


def _place_of(loop: ForOp) -> Expr:
    return dim(loop.axis.value.data)


def _is_plain(value: SSAValue) -> bool:
    """Whether `value` is what memory holds."""
    op = value.owner
    return isinstance(op, LoadOp) and not op.dynamic and op.mask is None and value.type == f32
