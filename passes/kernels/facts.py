"""Facts about the body of an unscheduled function, gathered once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tk.domain import Axes, is_along, is_reduction, runs_and_domains


@dataclass(frozen=True)
class Body:
    """The ops of a kernel, where they stand and which axes they run over."""

    ops: tuple[Operation, ...]
    position: dict[Operation, int]
    runs: dict[Operation, Axes]
    """Axes that an op runs over, those that it reduces included."""
    domains: dict[SSAValue, Axes]
    """Axes that a value varies over."""
    over: dict[Operation, Axes]
    """Axes that a reduction removes."""
    arrays: bool = False
    """Whether a reduction may have an accumulator in memory per element of its result."""

    @staticmethod
    def of(block: Block, tiles: Sequence[tuple[int, int]] = (), rank: int = 0, arrays: bool = False) -> Body:
        """The facts; `tiles` adds axis `rank + i` to whatever runs over the axis of tile `i`."""
        runs, domains = runs_and_domains(block)
        ops = tuple(runs)
        over: dict[Operation, Axes] = {op: frozenset(op.over) for op in ops if is_reduction(op)}
        position = {op: i for i, op in enumerate(ops)}
        if not tiles:
            return Body(ops, position, runs, domains, over, arrays)

        def tiled(axes: Axes) -> Axes:
            return axes.union(rank + i for i, (axis, _) in enumerate(tiles) if axis in axes)

        return Body(
            ops,
            position,
            {op: tiled(axes) for op, axes in runs.items()},
            {value: tiled(axes) for value, axes in domains.items()},
            {op: tiled(axes) for op, axes in over.items()},
            arrays,
        )

    def closure(self, sinks: Iterable[Operation], known: Container[SSAValue]) -> list[Operation]:
        """Every op that `sinks` need and that `known` does not give, sinks included, in order."""
        found: set[Operation] = set()
        todo = list(sinks)
        while todo:
            op = todo.pop()
            if op in found:
                continue
            found.add(op)
            for operand in operands_of(op):
                owner = operand.owner
                if isinstance(owner, Operation) and operand not in known:
                    todo.append(owner)
        return sorted(found, key=self.position.__getitem__)

    def sinks(self) -> list[Operation]:
        """The ops that the kernel is there for."""
        return [op for op in self.ops if not op.results]


def arranged(body: Body, loops: Sequence[int], ops: Iterable[Operation]) -> tuple[int, ...] | None:
    """The axes of `loops` that `ops` use, with results of reductions before what is reduced.

    A reduction over axis a whose result varies over axis b needs the loop over b outside.
    None where two reductions ask for opposite orders.
    """
    used: set[int] = set()
    after: dict[int, set[int]] = {}
    wanted = frozenset(loops)
    for op in ops:
        used |= body.runs[op] & wanted
        if is_reduction(op):
            if body.arrays:
                continue
            outer = body.domains[op.results[0]] & wanted
            inner: Iterable[int] = body.over[op]
        elif is_along(op):
            outer, inner = (body.runs[op] & wanted) - {op.along}, (op.along,)
        else:
            continue
        for axis in inner:
            after.setdefault(axis, set()).update(outer)
    todo, order = [a for a in loops if a in used], list[int]()
    while todo:
        ready = next((a for a in todo if after.get(a, set()).isdisjoint(todo)), None)
        if ready is None:
            return None
        order.append(ready)
        todo.remove(ready)
    return tuple(order)
