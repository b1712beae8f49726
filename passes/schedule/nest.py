"""Builds the loop nests of a function: one nest per level of reductions, recursively."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tk.access import LocalOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.types import flat_memref

from .accumulate import Accumulators
from .body import Body, Reduction, arranged
from .errors import NoLoopOrder
from .loop_writer import LoopWriter
from .plan import KEEP, Plan
from .work import Carry, Keep, Work
from .writer import Scope, Writer


class NestBuilder:
    """Writes loops for the body of one function."""

    def __init__(self, space: Sequence[Expr], plan: Plan, writer: Writer, body: Body) -> None:
        self.plan = plan
        self.writer = writer
        self.body = body
        self.space = space
        self.partial = Accumulators(plan, writer, body)
        self.loops = LoopWriter(self)

    # Nests

    def nest(self, scope: Scope, loops: Sequence[int], work: Work) -> None:
        """Do `work`, of which only the axes in `loops` are still unbound."""
        ops = self.needed(scope, work)
        order = arranged(self.body, loops, ops)
        if order is None:
            for part in self._split(scope, loops, work):
                self.nest(scope, loops, part)
        elif not order:
            self._leaf(scope, ops, work)
        else:
            self._phases(scope, order, ops, work)

    def needed(self, scope: Scope, work: Work) -> list[Operation]:
        """The ops to write for `work`, in order."""
        return self.body.closure(work.ops(), _Known(scope))

    def _split(self, scope: Scope, loops: Sequence[int], work: Work) -> list[Work]:
        """Groups of sinks, each of which has a loop order."""
        groups: list[Work] = []
        for single in work.singles():
            if arranged(self.body, loops, self.needed(scope, single)) is None:
                raise NoLoopOrder(single.ops()[0])
            for group in groups:
                both = group.joined(single)
                if arranged(self.body, loops, self.needed(scope, both)) is not None:
                    group.effects, group.carries, group.keeps = both.effects, both.carries, both.keeps
                    break
            else:
                groups.append(single)
        return groups

    def _phases(self, scope: Scope, order: tuple[int, ...], ops: list[Operation], work: Work) -> None:
        """One loop over the first axis per level; in between, what does not depend on it."""
        axis, rest = order[0], order[1:]
        levels = self._levels(scope, axis, ops)
        pending = frozenset(order)
        carried = {id(c.op) for c in work.carries}
        reductions = [
            op for op in ops if isinstance(op, Reduction) and axis in op.over and id(op) not in carried
        ]
        inside: list[Work] = []
        for level in range(max(levels.values(), default=0) + 1):
            inside.append(self._share(work, level, levels, lambda op: axis in self.body.runs[op]))
        starts: list[list[Carry]] = [[] for _ in inside]
        for op in reductions:
            if self.body.domains[op.results[0]].isdisjoint(pending):
                starts[levels[op]].append(Carry(op, ()))
        self._keep(scope, order, levels, inside, starts)
        for level, (loop, begun) in enumerate(zip(inside, starts, strict=True)):
            self._straight(scope, rest, pending, [op for op in ops if levels[op] == level], work, axis)
            for carry in begun:
                carry.values = self.partial.start(scope, carry.op)
            loop.carries.extend(begun)
            if loop:
                self.loops.write(scope, axis, rest, loop)
            for carry in begun:
                self.partial.finish(scope, carry)
            for keep in loop.keeps:
                scope.kept[keep.op.results[0]] = (keep.local, keep.axes)

    def _levels(self, scope: Scope, axis: int, ops: list[Operation]) -> dict[Operation, int]:
        """After how many loops over `axis` each op can run."""
        levels: dict[Operation, int] = {}
        for op in ops:
            level = 0
            for operand in op.operands:
                owner = operand.owner
                if isinstance(owner, Operation) and owner in levels and operand not in scope.env:
                    ends = isinstance(owner, Reduction) and axis in owner.over
                    level = max(level, levels[owner] + ends)
            levels[op] = level
        return levels

    def _share(
        self, work: Work, level: int, levels: dict[Operation, int], wanted: Callable[[Operation], bool]
    ) -> Work:
        """The part of `work` at this level whose ops are `wanted`."""

        def here(op: Operation) -> bool:
            return levels[op] == level and wanted(op)

        return Work(
            [op for op in work.effects if here(op)],
            [carry for carry in work.carries if here(carry.op)],
            [keep for keep in work.keeps if here(keep.op)],
        )

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
        carried = {id(c.op) for c in work.carries}
        for op in ops:
            runs = self.body.runs[op]
            if axis in runs or id(op) in carried:
                continue
            if runs.isdisjoint(pending):
                self._write(scope, op)
            elif isinstance(op, Reduction) and self.body.domains[op.results[0]].isdisjoint(pending):
                carry = Carry(op, self.partial.start(scope, op))
                self.nest(scope, rest, Work([], [carry], []))
                self.partial.finish(scope, carry)

        def elsewhere(op: Operation) -> bool:
            runs = self.body.runs[op]
            return op in mine and axis not in runs and not runs.isdisjoint(pending)

        apart = Work(
            [op for op in work.effects if elsewhere(op)],
            [c for c in work.carries if c.op in mine and axis not in self.body.runs[c.op]],
            [k for k in work.keeps if elsewhere(k.op)],
        )
        if apart:
            self.nest(scope, rest, apart)

    def _keep(
        self,
        scope: Scope,
        order: tuple[int, ...],
        levels: dict[Operation, int],
        inside: list[Work],
        starts: list[list[Carry]],
    ) -> None:
        """Give scratch to marked values that a later loop over the same axis needs again."""
        if len(inside) < 2 or not any(KEEP in op.attributes for op in levels):
            return
        known = _Known(scope)
        needs = [
            self.body.closure([*loop.ops(), *(c.op for c in begun)], known)
            for loop, begun in zip(inside, starts, strict=True)
        ]
        done: set[Operation] = set()
        for level, ops in enumerate(needs):
            for op in ops:
                first = levels[op]
                if KEEP not in op.attributes or op in done or first >= level or op not in needs[first]:
                    continue
                if order[0] not in self.body.runs[op]:
                    continue
                axes = tuple(a for a in order if a in self.body.domains[op.results[0]])
                size = product(self.space[a] for a in axes)
                self.writer.location = op.location
                local = self.writer.put(scope, LocalOp.make(size, flat_memref(op.results[0].type, size)))
                inside[first].keeps.append(Keep(op, local, axes))
                done.add(op)

    def _leaf(self, scope: Scope, ops: list[Operation], work: Work) -> None:
        """Everything at one element: values, then accumulators, then stores."""
        late = {id(op) for op in (*work.effects, *(c.op for c in work.carries))}
        for op in ops:
            if id(op) not in late:
                self._write(scope, op)
        for carry in work.carries:
            carry.values = self.partial.add(scope, carry.op, carry.values)
        for keep in work.keeps:
            self.writer.location = keep.op.location
            self.writer.keep(scope, keep.op.results[0], keep.local, keep.axes)
        for op in work.effects:
            self._write(scope, op)

    def _write(self, scope: Scope, op: Operation) -> None:
        if isinstance(op, ScanOp):
            scope.running[op] = self.partial.add(scope, op, scope.running[op])
            scope.env[op.result] = scope.running[op][0]
        elif isinstance(op, Reduction):  # over no axes
            for result, operand in zip(op.results, op.operands, strict=True):
                scope.env[result] = self.writer.value(scope, operand)
        elif not (op.results and op.results[0] in scope.env):
            self.writer.copy(scope, op)


class _Known:
    """The values that need not be computed again in a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def __contains__(self, value: object) -> bool:
        return value in self.scope.env or value in self.scope.kept
