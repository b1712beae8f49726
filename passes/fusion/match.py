"""Whether two kernels can share one iteration space, and which: the consumer reads the producer's scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import OpResult

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var, dim
from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import (
    loads_of,
    may_turn,
    one_store_to,
    plain_axis,
    remember_axes,
    solve_axes,
    split_axis,
    turn_axis,
)
from ..kernels.chains import find_chain
from .contents import Bodies, Contents
from .cost import count, extent

_LONG, _MANY_ROWS = 16384, 64
"""Where that many rows that are longer fill a device, or nearly so, nothing is won by parts of them."""


@dataclass(frozen=True)
class Match:
    """How the producer's axes map to those of the merged kernel."""

    axes: Mapping[int, int]
    space: tuple[Expr, ...]
    """The consumer's axes, then the producer's that have no counterpart."""
    reduced: frozenset[int]


def links(producer: KernelOp, consumer: KernelOp) -> list[tuple[LoadOp, StoreOp]] | str:
    """Each load of the consumer that reads the producer, with the store that it reads."""
    found: list[tuple[LoadOp, StoreOp]] = []
    for operand, source in zip(operands_of(consumer), consumer.sources, strict=True):
        if operand.owner is not producer or not isinstance(operand, OpResult):
            continue
        store = one_store_to(producer.destinations[operand.index])
        if store is None:
            return "the producer writes in several parts"
        for load in loads_of(source):
            if len(operands_of(load)) > 1:
                return "it is read under a mask or at gathered positions"
            found.append((load, store))
    return found


def axes_read(load: LoadOp, store: StoreOp, producer: KernelOp) -> dict[int, Expr] | None:
    """Where the producer stores what the consumer loads; None where that cannot be said."""
    part = store.mask is not None
    return solve_axes(store.subscripts, load.subscripts, producer.space, part=part)


Complete = Callable[[KernelOp, KernelOp, Bodies, dict[int, int]], Match | str]
"""Places the axes of the producer along which the consumer does not read, and checks that both fit."""


def plain_match(producer: KernelOp, consumer: KernelOp, bodies: Bodies) -> Match | None:
    """One iteration space for both, if there is one without splitting axes."""
    found = _try_match(producer, consumer, bodies, complete_match)
    return found if isinstance(found, Match) else None


Undo = dict[KernelOp, Callable[[], None]]
"""Kernels whose axes were split or turned, and what takes that back."""


def match(
    producer: KernelOp, consumer: KernelOp, bodies: Bodies, undo: Undo, complete: Complete | None = None
) -> Match | str:
    """One iteration space for both, or why there is none.

    May split axes of either, or turn them, and notes in `undo` how to take that back: a kernel that is left
    with split axes would not line up with its other neighbours.
    """
    of_p, of_c = bodies.of(producer), bodies.of(consumer)
    if complete is None and of_p.reduced and of_c.reduced and of_p.contraction is not None:
        return "a matrix product takes no second reduction"
    for _ in range(8):
        found = _try_match(producer, consumer, bodies, complete or complete_match)
        if isinstance(found, Match | str):
            return found
        if found.kernel not in undo:
            undo[found.kernel] = remember_axes(found.kernel)
        if not found.change():
            return "their axes do not line up"
        bodies.changed(found.kernel)
    return "their axes do not line up"


@dataclass(frozen=True)
class _Split:
    """Splitting this axis would bring the spaces closer."""

    kernel: KernelOp
    axis: int
    inner: Expr

    def change(self) -> bool:
        return split_axis(self.kernel, self.axis, self.inner)


@dataclass(frozen=True)
class _Turn:
    """Walking this axis backwards would bring them closer."""

    kernel: KernelOp
    axis: int

    def change(self) -> bool:
        turn_axis(self.kernel, self.axis)
        return True


def _try_match(
    producer: KernelOp, consumer: KernelOp, bodies: Bodies, complete: Complete
) -> Match | _Split | _Turn | str:
    linked = links(producer, consumer)
    if isinstance(linked, str):
        return linked
    axes: dict[int, int] = {}
    bounds = Bounds(consumer.space)
    still = {Var("d", a): ZERO for a, size in enumerate(consumer.space) if size.constant == 1}
    for load, store in linked:
        values = axes_read(load, store, producer)
        if values is None:
            return "the producer's store cannot be inverted"
        for axis, value in values.items():
            if producer.space[axis].constant == 1:
                continue
            simple = bounds.simplify(value.substitute(still) if still else value)
            if (target := plain_axis(simple)) is None:
                turn = None if axis in axes else _turned(producer, consumer, axis, simple, bodies)
                return turn or _refine(producer, consumer, axis, simple)
            if axes.setdefault(axis, target) != target:
                return "it is read at several positions"
    if len(set(axes.values())) != len(axes):
        return "it is read along a diagonal"
    if any(producer.space[p] != consumer.space[c] for p, c in axes.items()):
        return "only a part of it is read"
    return complete(producer, consumer, bodies, axes)


def _turned(producer: KernelOp, consumer: KernelOp, axis: int, value: Expr, bodies: Bodies) -> _Turn | None:
    """Which of the two walks backwards where the consumer reads `axis` from its end: the first that may."""
    ends = sorted(v.index for v in value.variables() if v.kind == "d") if bodies.far else ()
    for other in ends:
        if value == consumer.space[other] - 1 - dim(other):
            for kernel, turned in ((producer, axis), (consumer, other)):
                if may_turn(kernel, turned) and not bodies.of(kernel).tiled:
                    return _Turn(kernel, turned)
    return None


def _refine(producer: KernelOp, consumer: KernelOp, axis: int, value: Expr) -> _Split | str:
    """The producer's `axis` equals `value`, which is not an axis: split one side, if possible."""
    variables = [v for v in value.variables() if v.kind == "d"]
    if any(not isinstance(atom, Var) for atom in value.atoms()):
        for var in variables:
            for inner in inner_sizes(value, var, consumer.space[var.index]):
                return _Split(consumer, var.index, inner)
        return "its axes are divided unevenly"
    ones = [v for v in variables if (c := value.coefficient(v)) is not None and c.constant == 1]
    if len(variables) > 1 and len(ones) == 1:
        return _Split(producer, axis, consumer.space[ones[0].index])
    return "it is read with a stride or an offset"


def inner_sizes(value: Expr, var: Var, size: Expr) -> Iterable[Expr]:
    """What quotients and remainders of an axis in `value` divide it by, where that divides its `size`."""
    for atom in value.atoms():
        if not isinstance(atom, Var) and atom.name in ("floordiv", "mod") and atom.lhs == dim(var.index):
            quotient = size.exact_div(atom.rhs)
            if quotient is not None and quotient.constant != 1 and atom.rhs.constant != 1:
                yield atom.rhs


def complete_match(
    producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]
) -> Match | str:
    """Place the producer's remaining axes, which it reduces, and check that both fit one loop nest."""
    of_p, of_c = bodies.of(producer), bodies.of(consumer)
    if not bodies.may_scan(of_p, of_c):
        return "a scan stays alone"
    if not (of_p.uniform and of_c.uniform) and not _takes_elements(of_p, of_c, bodies):
        return "it reduces over different axes"
    space = list(consumer.space)
    for axis in range(len(producer.space)):
        if axis in axes:
            continue
        if axis not in of_p.reduced and producer.space[axis].constant != 1:
            return "one of its axes is not read"
        target = counterpart(producer.space[axis], consumer, (of_p, of_c), axis, axes)
        if target is None:
            target = len(space)
            space.append(producer.space[axis])
        axes[axis] = target
    moved_p = frozenset(axes[a] for a in of_p.reduced)
    if moved_p and of_c.reduced:
        if moved_p != of_c.reduced:
            return "both reduce, over different axes"
        if any(body.contraction is not None for body in (of_p, of_c)):
            return "a matrix product takes no second reduction"
    result = Match(axes, tuple(space), moved_p | of_c.reduced)
    return _few_scanned_rows(of_p, of_c, result) or _check_coverage(of_p, of_c, result) or result


def _takes_elements(producer: Contents, consumer: Contents, bodies: Bodies) -> bool:
    """Whether tiles that hold what they reduce, along axes of its own each, make elements beside that.

    Chains of products have tiles of another kind.
    """
    if not bodies.scans_join or (producer.over and consumer.over):
        return False
    return all(find_chain(body.block) is None for body in (producer, consumer))


def _few_scanned_rows(producer: Contents, consumer: Contents, m: Match) -> str | None:
    """Reductions of few long rows are split in parts, which scans are not."""
    if not (producer.scans or consumer.scans) or not (producer.folds or consumer.folds):
        return None
    rows = count([size for a, size in enumerate(m.space) if a not in m.reduced])
    if extent_of(m) <= _LONG or rows >= _MANY_ROWS:
        return None
    return f"a scan of {rows} long rows cannot be split as what reduces them can"


def _check_coverage(producer: Contents, consumer: Contents, m: Match) -> str | None:
    """Every store must vary over every axis that is not reduced: nothing is written twice."""
    outer = {a for a in range(len(m.space)) if a not in m.reduced and m.space[a].constant != 1}
    for store in consumer.stores:
        if not outer <= axes_in(store.subscripts):
            return "its iteration space is larger than the consumer's"
    for store in producer.stores:
        if not outer <= {m.axes[a] for a in axes_in(store.subscripts)}:
            return "the consumer's iteration space is larger"
    return None


@lru_cache(maxsize=16384)
def axes_in(exprs: tuple[Expr, ...]) -> frozenset[int]:
    """`axes_of_exprs` of subscripts, which are asked for often."""
    return axes_of_exprs(exprs)


def counterpart(
    size: Expr,
    consumer: KernelOp,
    bodies: tuple[Contents, Contents],
    axis: int,
    axes: Mapping[int, int],
    among: Set[int] | None = None,
) -> int | None:
    """A free axis of the consumer, of those `among`, for the producer's reduced `axis`; None for a new one.

    What tiles have summed is not walked again.
    """
    if bodies[0].tiled:
        return None
    free = [c for c, other in enumerate(consumer.space) if c not in axes.values() and other == size]
    free = [c for c in free if among is None or c in among]
    if len(free) < 2:
        return free[0] if free else None
    along = {
        load.operands[0].type: i
        for load in bodies[0].loads
        for i, e in enumerate(load.subscripts)
        if plain_axis(e) == axis
    }
    for c in free:  # prefer the axis that walks a tensor of the same shape in the same dimension
        for load in bodies[1].loads:
            if (i := along.get(load.operands[0].type)) is not None and plain_axis(load.subscripts[i]) == c:
                return c
    return free[0]


def extent_of(m: Match) -> int:
    """Points of the reduced axes."""
    total = 1
    for axis in m.reduced:
        total *= extent(m.space[axis])
    return total
