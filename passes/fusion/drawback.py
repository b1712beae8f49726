"""Why two kernels that could share their loops would be slower then."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ArgReduceOp, ScanOp
from tilewright.dialects.tk.domain import runs_and_domains
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.sort import SortOp

from .contents import Bodies, Contents
from .cost import count, is_contiguous
from .match import Match, axes_in, extent_of
from .online import sums_below_maxima

_PARALLEL_WORK = 32768
"""Elements from which on a kernel should have several independent rows."""
_MIN_ROWS = 4
_SPLIT = 1 << 17
"""Elements from which on `split-reductions` splits a reduction to few rows."""
_WHOLE = frozenset[type[Operation]]((AssertOp, ArgReduceOp, ScanOp, SortOp))
"""What stands in no part of a reduction."""
_NEAR = 64
"""Ops that are asked whether one needs another: what needs both is near."""


def drawback(producer: KernelOp, consumer: KernelOp, bodies: Bodies, m: Match) -> str | None:
    """Why sharing the loops would be slower, None where it is not."""
    if not m.reduced:
        return None
    of_p, of_c = bodies.of(producer), bodies.of(consumer)
    outer = [size for a, size in enumerate(m.space) if a not in m.reduced]
    few = count(outer) < _MIN_ROWS and count(m.space) >= _PARALLEL_WORK
    if few and _has_more_rows((producer, consumer), bodies) and not _in_parts(producer, consumer, bodies, m):
        return f"the merged kernel would have only {count(outer)} independent rows"
    if extent_of(m) <= bodies.column:
        return None
    strided = not _reduces_contiguously(of_p, m) and (of_p.folds or not of_p.scans)
    again = strided and _walks_again(producer, consumer, of_c, m)
    if again and not (bodies.far and sums_below_maxima(producer, consumer, m)):
        return "its reduction runs across rows, which would be walked twice with a stride"
    if of_p.reduced and of_c.reduced and _runs_along_rows(of_p) != _runs_along_rows(of_c):
        return "one of the two reduces along rows, the other one across them"
    return None


def _walks_again(producer: KernelOp, consumer: KernelOp, of_c: Contents, m: Match) -> bool:
    """Whether something along a reduced axis waits for what the producer reduces.

    y = x - mean(x, 0)                     the loop that stores comes after the one that adds
    v = var(x, 0) + mean(x, 0)             one loop finds both
    """
    accesses = (*of_c.loads, *of_c.stores)
    if all(m.reduced.isdisjoint(axes_in(op.subscripts)) for op in accesses):
        return False
    operands = zip(consumer.operands, consumer.sources, strict=True)
    waiting: set[SSAValue] = {source for operand, source in operands if operand.owner is producer}
    for op, axes in runs_and_domains(of_c.block)[0].items():
        if waiting.isdisjoint(op.operands):
            continue
        if not m.reduced.isdisjoint(axes):
            return True
        waiting.update(op.results)
    return False


def _has_more_rows(kernels: Sequence[KernelOp], bodies: Bodies) -> bool:
    """True where one of the two alone would have enough independent rows."""
    for kernel in kernels:
        reduced = bodies.of(kernel).reduced
        if count([n for a, n in enumerate(kernel.space) if a not in reduced]) >= _MIN_ROWS:
            return True
    return False


def _in_parts(producer: KernelOp, consumer: KernelOp, bodies: Bodies, m: Match) -> bool:
    """Whether the consumer sums what the producer makes, so that parts of both can be alike.

    `split-reductions` splits such a kernel for certain. Another reader of the producer may join it yet, but
    not one that waits for the sum: the step of LAMB reads an update, and the norm of it. Nor does any where
    the bodies are `settled`.
    """
    of_p, of_c = bodies.of(producer), bodies.of(consumer)
    if not bodies.parts or of_p.reduced or count(m.space) < _SPLIT:
        return False
    if any(not m.reduced.isdisjoint(axes_in(store.subscripts)) for store in of_c.stores):
        return False
    kinds = {type(op) for body in (of_p, of_c) for op in body.block.ops}
    readers = {use.operation for result in producer.results for use in result.uses}
    others = [r for r in readers - {consumer} if isinstance(r, KernelOp)]
    free = bodies.settled or all(_waits_for(other, consumer) for other in others)
    return free and kinds.isdisjoint(_WHOLE)


def _waits_for(op: Operation, other: Operation) -> bool:
    """Whether `op` needs a result of `other`, as far as few steps tell."""
    todo, seen = [other], {other}
    while todo and len(seen) <= _NEAR:
        for result in todo.pop().results:
            for use in result.uses:
                if use.operation is op:
                    return True
                if use.operation not in seen:
                    seen.add(use.operation)
                    todo.append(use.operation)
    return False


def _reduces_contiguously(producer: Contents, m: Match) -> bool:
    back = {c: p for p, c in m.axes.items()}
    return any(is_contiguous(load, back[a]) for load in _largest(producer) for a in m.reduced if a in back)


def _runs_along_rows(contents: Contents) -> bool:
    """Whether neighbours in the largest of what is read are reduced."""
    return any(is_contiguous(load, axis) for load in _largest(contents) for axis in contents.reduced)


def _largest(contents: Contents) -> Sequence[LoadOp]:
    """The loads of what has most axes, or indices; a number for each row is little beside rows."""
    axes = {load: len(axes_in(load.subscripts)) + len(load.dynamic) for load in contents.loads}
    most = max(axes.values(), default=0)
    return [load for load, number in axes.items() if number == most]
