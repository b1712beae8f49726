"""Make one kernel of a producer and its consumer where one iteration space suits both."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.dialects.tk.kernels import KernelOp

from .contents import Bodies
from .drawback import drawback
from .match import Complete, Match, Undo, match
from .merge import merge, users_to_sink
from .unread import drop_unread
from .written_out import use_results, written_out


def merge_matched(
    producer: KernelOp, consumer: KernelOp, bodies: Bodies, complete: Complete | None = None
) -> KernelOp | str:
    """Both kernels as one; or why not, with all their axes as they were.

    A `complete` of the caller's says as well whether that is worth it.
    """
    undo: Undo = {}
    found = match(producer, consumer, bodies, undo, complete)
    why = found if isinstance(found, str) else None
    if isinstance(found, Match) and complete is None:
        why = drawback(producer, consumer, bodies, found)
    sunk = users_to_sink(producer, consumer) if why is None else why
    if isinstance(found, Match) and not isinstance(sunk, str):
        return merge(producer, consumer, bodies, found, sunk)
    for kernel, restore in undo.items():
        restore()
        bodies.changed(kernel)
    assert isinstance(sunk, str)
    return sunk


def merge_written_out(
    producer: KernelOp,
    consumer: KernelOp,
    bodies: Bodies,
    too_big: Callable[[KernelOp, KernelOp], str | None],
) -> KernelOp | None:
    """Both as one, in which only the consumer reduces: the terms of the producer's sums are written out."""
    if not bodies.of(consumer).reduced or not bodies.of(producer).may_be_written_out:
        return None
    if (copy := written_out(producer)) is None:
        return None
    use_results(copy, producer)
    merged = too_big(copy, consumer) or merge_matched(copy, consumer, bodies)
    if isinstance(merged, str):
        use_results(producer, copy)
    drop_unread(copy if isinstance(merged, str) else producer)
    return None if isinstance(merged, str) else merged
