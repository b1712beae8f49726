"""Compute a result of a kernel again where another kernel loads it, if that is worth it."""

from __future__ import annotations

from xdsl.ir import OpResult

from tilewright.dialects.tk.kernels import KernelOp

from ..rewrite import remarks_wanted
from .body import loads_of, simplify_body
from .contents import Bodies
from .inline import axis_values, inline_at, producer_of
from .searches import find_table
from .staying import reads_all, stays
from .unread import drop_unread
from .vanishing import vanishes
from .worth import Memory, recompute_costs_more
from .written_out import use_results, written_out


def compute_again(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> str | None:
    """Inline `value` at every load of `consumer`; a reason where that is impossible or costs more."""
    source = consumer.sources[list(consumer.operands).index(value)]
    loads = loads_of(source)
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    everywhere = memory.far and vanishes(kernel, memory.tile)
    if not everywhere and not remarks_wanted() and stays(value, consumer, loads, bodies):
        return "it is a reduction, or recomputing it costs more"  # which is a longer question
    producer = producer_of(value)
    if isinstance(producer, str):
        return producer
    plans = [(load, axis_values(producer, load, consumer.space, checks=memory.far)) for load in loads]
    for _, plan in plans:
        if isinstance(plan, str):
            return plan
    why = None if everywhere else recompute_costs_more(value, producer, consumer, loads, memory)
    if why is not None:
        return why
    for load, plan in plans:
        assert not isinstance(plan, str)
        inline_at(consumer, load, producer, plan)
    simplify_body(consumer)
    return None


def compute_written_out(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> bool:
    """Inline what reduces few elements, whose terms are written out first.

    `consumer` is all that reads it, or all that do can. Searches of lists stay: `walk-lists` goes along them.
    """
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    alone = reads_all(kernel, consumer)
    if find_table(value) is not None or (copy := written_out(kernel)) is None:
        return False
    use_results(copy, kernel)
    inlined = alone or vanishes(copy, memory.tile)
    inlined = inlined and compute_again(copy.results[value.index], consumer, bodies, memory) is None
    if not inlined:
        use_results(kernel, copy)
    drop_unread(copy)
    return inlined
