"""Compute a result of a kernel again where another kernel loads it, if that is worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import OpResult

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.domain import Axes, axes_of, axes_of_exprs
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import loads_of, simplify_body
from ..kernels.naming import NAME, fused_name
from ..rewrite import remarks_wanted
from .contents import Bodies
from .in_place import reads_what_changes
from .inline import Producer, axis_values, inline_at, producer_of
from .online import summed_below_maximum
from .repeats import size_in_bytes
from .searches import find_table
from .staying import reads_all, stays
from .stored_beside import from_stored_beside
from .unread import drop_unread
from .vanishing import MOVED_AT_ONCE, vanishes
from .worth import Memory, computing_costs_less, recompute_costs_more
from .written_out import use_results, written_out


def compute_again(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> str | None:
    """Inline `value` at every load of `consumer`; a reason where that is impossible or costs more."""
    source = consumer.sources[list(consumer.operands).index(value)]
    loads = loads_of(source)
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    everywhere = memory.far and (
        vanishes(kernel, bodies, memory.tile) or summed_below_maximum(value, consumer)
    )
    if not everywhere and not remarks_wanted() and stays(value, consumer, loads, bodies):
        return "it is a reduction, or recomputing it costs more"  # which is a longer question
    producer = producer_of(value)
    if isinstance(producer, str):
        return producer
    plans = _plans(producer, consumer, loads, bodies, checks=memory.far)
    if isinstance(plans, str):
        return plans
    why = None if everywhere else recompute_costs_more(value, producer, consumer, loads, memory)
    if why is not None:
        return why
    _inline(consumer, producer, plans)
    return None


_Plans = Sequence[tuple[LoadOp, Mapping[int, Expr]]]
"""The axes of a producer at each load."""


def _plans(
    producer: Producer, consumer: KernelOp, loads: Sequence[LoadOp], bodies: Bodies, *, checks: bool
) -> _Plans | str:
    """How to compute the producer at each of `loads`, or why that is impossible."""
    plans: list[tuple[LoadOp, Mapping[int, Expr]]] = []
    product = bodies.of(consumer).contraction
    for load in loads:
        plan = axis_values(producer, load, consumer.space, checks=checks)
        if isinstance(plan, str):
            return plan
        if product is not None and not product.over.isdisjoint(_checked(producer, plan)):
            return "it checks what a product sums, whose tiles check nothing"
        plans.append((load, plan))
    return plans


def _checked(producer: Producer, plan: Mapping[int, Expr]) -> Axes:
    """The axes of the consumer that checks would run over."""
    checks = [op for op in producer.ops if isinstance(op, AssertOp)]
    axes = frozenset[int]().union(*(axes_of(check.condition) for check in checks))
    return axes_of_exprs(plan[axis] for axis in axes)


def _inline(consumer: KernelOp, producer: Producer, plans: _Plans) -> None:
    for load, plan in plans:
        inline_at(consumer, load, producer, plan)
    simplify_body(consumer)


def inline_everywhere(kernel: KernelOp, readers: Sequence[KernelOp], bodies: Bodies) -> None:
    """Let `readers`, which can, compute what they load of `kernel`, which is left out."""
    for reader in readers:
        for value in [v for v in dict.fromkeys(reader.operands) if v.owner is kernel]:
            producer = producer_of(value)
            loads = loads_of(reader.sources[list(reader.operands).index(value)])
            assert isinstance(producer, Producer)
            plans = _plans(producer, reader, loads, bodies, checks=True)
            assert not isinstance(plans, str)
            _inline(reader, producer, plans)
        reader.attributes[NAME] = fused_name(kernel, reader)
        bodies.changed(reader)
    drop_unread(kernel)


def compute_instead(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> bool:
    """Inline a result that its kernel makes beside others: it need not be stored, whatever they need.

    What reduces stays near the rows: later passes sum them where they are made. But what is more to read than
    what it is made of is read by nobody who can make it.
    """
    if _compute_from_beside(value, consumer, bodies, memory):
        return True
    if isinstance(producer := producer_of(value), str):
        return False
    loads = loads_of(consumer.sources[list(consumer.operands).index(value)])
    plans = _plans(producer, consumer, loads, bodies, checks=True)
    if isinstance(plans, str):
        return False
    alone = not bodies.of(consumer).reduced and all(use.operation is consumer for use in value.uses)
    if not alone and bodies.of(consumer).contraction is not None:
        return False  # tiles would make it for each of the other factor
    saved = 2 if alone else 1
    if not computing_costs_less(value, producer, consumer, loads, memory, saved):
        return False
    _inline(consumer, producer, plans)
    return True


def _compute_from_beside(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> bool:
    """Inline what is little work from other results of its kernel: `consumer` reads those instead."""
    if (copy := from_stored_beside(value)) is None:
        return False
    again, operand = copy.results[0], list(consumer.operands).index(value)
    consumer.operands[operand] = again
    inlined = _saves_memory(value, copy, consumer) and not reads_what_changes(again, consumer)
    inlined = inlined and compute_again(again, consumer, bodies, memory) is None
    if not inlined:
        consumer.operands[operand] = value
    drop_unread(copy)
    return inlined


def _saves_memory(value: OpResult, copy: KernelOp, consumer: KernelOp) -> bool:
    """Whether inputs that `copy` reads are less to move than `value`, which nobody reads but `consumer`.

    What is small saves no time, and kernels that read the same would no longer.
    """
    inputs = {v for v in copy.operands if v.owner is not value.op}
    read = sum(size_in_bytes(v) for v in inputs if v not in consumer.operands)
    alone = value.first_use is None
    return not inputs or (alone and 2 * size_in_bytes(value) - read > MOVED_AT_ONCE)


def compute_written_out(value: OpResult, consumer: KernelOp, bodies: Bodies, memory: Memory) -> bool:
    """Inline what reduces few elements, whose terms are written out first.

    `consumer` is all that reads it, or all that do can. Searches of lists stay: `walk-lists` goes along them.
    """
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    if not bodies.of(kernel).may_be_written_out or find_table(value) is not None:
        return False
    alone = reads_all(kernel, consumer)
    if (copy := written_out(kernel)) is None:
        return False
    use_results(copy, kernel)
    inlined = alone or vanishes(copy, bodies, memory.tile)
    inlined = inlined and compute_again(copy.results[value.index], consumer, bodies, memory) is None
    if not inlined:
        use_results(kernel, copy)
    drop_unread(copy)
    return inlined
