"""Builds the loop nests of a function: one nest per level of reductions, recursively."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.sort import SortOp

from ...kernels.facts import Body, arranged
from ..accumulate import Accumulators, sums_floats
from ..errors import NoLoopOrder
from ..plan import KEEP, Plan
from ..work import Carry, Grow, Keep, Work
from ..writer import Known, Scope, Writer
from .arrays import ArrayAccumulators
from .loop_writer import LoopWriter
from .parts import reduce_in_parts
from .sorted_rows import SortedRows
from .turned import TurnedAccesses


@dataclass
class _Phase:
    """One loop among those over the same axis."""

    work: Work
    reductions: list[Reduction] = field(default_factory=list[Reduction])
    in_arrays: list[Reduction] = field(default_factory=list[Reduction])
    outer_grows: list[Grow] = field(default_factory=list[Grow])

    def ops(self) -> list[Operation]:
        return [
            *self.work.ops(), *self.reductions, *self.in_arrays, *(grow.op for grow in self.outer_grows)
        ]  # fmt: skip


class NestBuilder:
    """Writes loops for the body of one function."""

    def __init__(self, space: Sequence[Expr], plan: Plan, writer: Writer, body: Body) -> None:
        self.plan = plan
        self.writer = writer
        self.body = body
        self.space = space
        self.partial = Accumulators(plan, writer, body)
        self.loops = LoopWriter(self)
        self.arrays = ArrayAccumulators(self)
        self.turned = TurnedAccesses(self)
        self.sorted: SortedRows | None = SortedRows(self)

    # Nests

    def nest(self, scope: Scope, loops: Sequence[int], work: Work) -> None:
        """Do `work`, of which only the axes in `loops` are still unbound."""
        ops = self.needed(scope, work)
        order = arranged(self.body, loops, ops)
        if order is not None and self.sorted is not None and self.sorted.before(scope, order, ops, work):
            ops = self.needed(scope, work)
            order = arranged(self.body, loops, ops)
        if order is None:
            for part in self._split(scope, loops, work):
                self.nest(scope, loops, part)
        elif not order:
            self._leaf(scope, ops, work)
        elif self.turned.here(order):
            self.turned.before(scope, ops)
            self._phases(scope, order, self.needed(scope, work), work)
            self.turned.after(scope, ops)
        else:
            self._phases(scope, order, ops, work)

    def needed(self, scope: Scope, work: Work) -> list[Operation]:
        """The ops to write for `work`, in order."""
        return self.body.closure(work.ops(), Known(scope))

    def _split(self, scope: Scope, loops: Sequence[int], work: Work) -> list[Work]:
        """Groups of sinks, each of which has a loop order."""
        groups: list[Work] = []
        for single in work.singles():
            if arranged(self.body, loops, self.needed(scope, single)) is None:
                raise NoLoopOrder(single.ops()[0])
            for group in groups:
                both = group.joined(single)
                if arranged(self.body, loops, self.needed(scope, both)) is not None:
                    group.add(single)
                    break
            else:
                groups.append(single)
        return groups

    def _phases(self, scope: Scope, order: tuple[int, ...], ops: list[Operation], work: Work) -> None:
        """One loop over the first axis per level; in between, what does not depend on it."""
        axis, rest = order[0], order[1:]
        levels = self._levels(scope, axis, ops)
        pending = frozenset(order)
        begun = self._begun(axis, pending, ops, levels, work)
        self._keep(scope, order, levels, begun)
        for level, phase in enumerate(begun):
            self._straight(scope, rest, pending, [op for op in ops if levels[op] == level], work, axis)
            if phase.reductions and self._in_parts(scope, axis):
                reduce_in_parts(self, scope, axis, rest, phase.work, phase.reductions)
                continue
            carries = [Carry(op, self.partial.start(scope, op)) for op in phase.reductions]
            grows = [self.arrays.start(scope, order, op) for op in phase.in_arrays]
            inner = [self.arrays.start(scope, order, grow.op) for grow in phase.outer_grows]
            loop = phase.work
            loop.carries = loop.carries + carries
            loop.grows = loop.grows + grows + inner
            if loop and not self._in_groups(scope, axis, order, loop):
                self.loops.write(scope, axis, rest, loop)
            for carry in carries:
                self.partial.finish(scope, carry)
            for grow in grows:
                scope.kept[grow.op.results[0]] = (grow.local, grow.axes)
            for part, whole in zip(inner, phase.outer_grows, strict=True):
                self.arrays.merge(scope, whole, part)
            for keep in loop.keeps:
                scope.kept[keep.op.results[0]] = (keep.local, keep.axes)

    def _in_groups(self, scope: Scope, axis: int, order: tuple[int, ...], work: Work) -> bool:
        """Sums in arrays, over many tiles: those of groups of tiles are added up. False if it is not that."""
        if work.carries or work.effects or work.keeps or not all(sums_floats(g.op) for g in work.grows):
            return False

        def group(inner: Scope) -> None:
            parts = [self.arrays.start(inner, order, whole.op) for whole in work.grows]
            self.loops.write(inner, axis, order[1:], Work(grows=parts))
            for part, whole in zip(parts, work.grows, strict=True):
                self.arrays.merge(inner, whole, part)

        return self.loops.grouped(scope, axis, group)

    def _in_parts(self, scope: Scope, axis: int) -> bool:
        """Whether the loop over `axis` is parallel although it reduces."""
        return scope.depth == 0 and axis >= len(self.space) and axis in self.plan.order[: self.plan.parallel]

    def _begun(
        self,
        axis: int,
        pending: frozenset[int],
        ops: list[Operation],
        levels: dict[Operation, int],
        work: Work,
    ) -> list[_Phase]:
        """Per level, the work of the loop over `axis` and the reductions that it runs."""
        running = {id(state.op) for state in (*work.carries, *work.grows)}
        phases: list[_Phase] = []
        for level in range(max(levels.values(), default=0) + 1):

            def here(op: Operation, level: int = level) -> bool:
                return levels[op] == level and axis in self.body.runs[op]

            share = work.part(here)
            outer = [grow for grow in share.grows if axis in self.body.over[grow.op]]
            share.grows = [grow for grow in share.grows if axis not in self.body.over[grow.op]]
            phases.append(_Phase(share, outer_grows=outer))
        for op in ops:
            if isinstance(op, Reduction) and axis in self.body.over[op] and id(op) not in running:
                phase = phases[levels[op]]
                scalar = self.body.domains[op.results[0]].isdisjoint(pending)
                (phase.reductions if scalar else phase.in_arrays).append(op)
        return phases

    def _levels(self, scope: Scope, axis: int, ops: list[Operation]) -> dict[Operation, int]:
        """After how many loops over `axis` each op can run."""
        levels: dict[Operation, int] = {}
        for op in ops:
            level = 0
            for operand in op.operands:
                owner = operand.owner
                if isinstance(owner, Operation) and owner in levels and operand not in scope.env:
                    ends = isinstance(owner, Reduction) and axis in self.body.over[owner]
                    level = max(level, levels[owner] + ends)
            levels[op] = level
        return levels

    def _straight(
        self,
        scope: Scope,
        rest: tuple[int, ...],
        pending: frozenset[int],
        ops: list[Operation],
        work: Work,
        axis: int,
    ) -> None:
        """What runs outside of the loop over `axis`: scalars here, other nests of their own."""
        mine = set(ops)
        carried = {id(state.op) for state in (*work.carries, *work.grows)}
        for op in ops:
            runs = self.body.runs[op]
            if axis in runs or id(op) in carried:
                continue
            if runs.isdisjoint(pending):
                self.write(scope, op)
            elif isinstance(op, Reduction) and self.body.domains[op.results[0]].isdisjoint(pending):
                carry = Carry(op, self.partial.start(scope, op))
                self.nest(scope, rest, Work([], [carry], []))
                self.partial.finish(scope, carry)

        apart = work.part(lambda op: op in mine and axis not in self.body.runs[op])
        apart.effects = [op for op in apart.effects if not self.body.runs[op].isdisjoint(pending)]
        if apart:
            self.nest(scope, rest, apart)

    def _keep(
        self,
        scope: Scope,
        order: tuple[int, ...],
        levels: dict[Operation, int],
        phases: list[_Phase],
    ) -> None:
        """Give scratch to marked values that a later loop over the same axis needs again."""
        if len(phases) < 2 or not any(KEEP in op.attributes for op in levels):
            return
        known, needs = Known(scope), list[list[Operation]]()
        for phase in phases:
            needs.append(self.body.closure(phase.ops(), known))
            known = known.after(phase.reductions, phase.in_arrays)
        done: set[Operation] = set()
        for level, ops in enumerate(needs):
            for op in ops:
                first = levels[op]
                if KEEP not in op.attributes or op in done or first >= level or op not in needs[first]:
                    continue
                runs = self.body.runs[op]
                if order[0] not in runs or (scope.vectors and self.plan.vector in runs):
                    continue  # scratch has no place for every lane of an outer vector
                axes = self.arrays.axes(order, op)
                local = self.arrays.local(scope, op, axes)
                phases[first].work.keeps.append(Keep(op, local, axes))
                done.add(op)

    def _leaf(self, scope: Scope, ops: list[Operation], work: Work) -> None:
        """Everything at one element: values, then accumulators, then stores."""
        late = {id(op) for op in (*work.effects, *(c.op for c in (*work.carries, *work.grows)))}
        for op in ops:
            if id(op) not in late:
                self.write(scope, op)
        for carry in work.carries:
            carry.values = self.partial.add(scope, carry.op, carry.values)
        for keep in work.keeps:
            self.writer.location = keep.op.location
            self.writer.keep(scope, keep.op.results[0], keep.local, keep.axes)
        for grow in work.grows:
            self.arrays.add(scope, grow)
        for op in work.effects:
            self.write(scope, op)

    def write(self, scope: Scope, op: Operation) -> None:
        """One op at one element."""
        if isinstance(op, ScanOp):
            scope.running[op] = self.partial.add(scope, op, scope.running[op])
            scope.env[op.result] = scope.running[op][0]
        elif isinstance(op, SortOp) and self.sorted is not None:
            self.sorted.fill(scope, op)
        elif isinstance(op, Reduction):  # over no axes
            for result, operand in zip(op.results, op.operands, strict=True):
                scope.env[result] = self.writer.value(scope, operand)
        elif isinstance(op, StoreOp) and op in scope.turned:
            self.writer.location = op.location
            self.writer.write_local(scope, *scope.turned[op], self.writer.value(scope, op.value))
        elif not (op.results and op.results[0] in scope.env):
            self.writer.copy(scope, op)
