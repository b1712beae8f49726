"""Whether fusing is worth it: recomputing against memory traffic, and who should join a matrix product."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.arith import ExtSIOp, ExtUIOp
from tilewright.dialects.tk.contraction import FACTORS, find_contraction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, is_float8, sizes_of

from ..kernels.body import combined_axes, loads_of
from .contents import Bodies
from .cost import (
    BYTE_COST,
    MEMORY_BYTE_COST,
    NEAR_BYTE_COST,
    POSITIONS,
    body_cost,
    conversions,
    count,
    evaluations,
)
from .inline import Producer
from .repeats import affordable, bytes_read, computed, idle, size_in_bytes, work_at
from .staying import reads_all
from .vanishing import enlarges, vanishes

_WIDENING = frozenset[type[Operation]]((LoadOp, StoreOp, arith.ExtFOp, ExtSIOp, ExtUIOp, arith.BitcastOp))
_LITTLE = 16
"""What computes no more for each element that it widens, as where padding ends, only widens."""
_MOST_KERNELS = 16
"""Kernels that make a constant, if it is one: what takes more is not looked through."""
POSITION_CHECKS = 6
"""Ops that wrap, check or widen a position; one computed in place has a known range (`narrow-integers`)."""


@dataclass(frozen=True)
class Memory:
    """How results of kernels reach those that read them."""

    tile: int
    """Rows of one factor of a product that read an element of the other one at once."""
    far: bool
    """They go through the memory of a device, not through a cache."""


def waits(producer: KernelOp, consumer: KernelOp, bodies: Bodies, tile: int) -> str | None:
    """Why `consumer` should not join a producer before later kernels had their chance."""
    if _only_widens(consumer) and any(isinstance(u.operation, KernelOp) for u in consumer.results[0].uses):
        return "it only widens what is stored, as those that read it can"
    if enlarges(consumer, 2) and vanishes(consumer, bodies, tile):
        return "it only enlarges what is stored, as those that read it can"
    why = _waits_for_product(producer, consumer)
    return why if why is not None and bodies.of(producer).contraction is not None else None


def _waits_for_product(producer: KernelOp, consumer: KernelOp) -> str | None:
    """Why `consumer` should not join `producer` yet, if that is a matrix product."""
    if all(isinstance(use.operation, ReturnOp) for r in consumer.results for use in r.uses):
        return None
    if any(use.operation is not consumer for r in producer.results for use in r.uses):
        return "it is a matrix product whose result others read, too"
    inside = [r for r in consumer.results if not any(isinstance(u.operation, ReturnOp) for u in r.uses)]
    freed = sum(bytes_of(element_type_of(r)) for r in producer.results)
    if sum(bytes_of(element_type_of(r)) for r in inside) > freed:
        return "it is a matrix product, and its result is narrower"
    return None


def _only_widens(kernel: KernelOp) -> bool:
    """Whether it loads elements, one at a time, and stores more bytes, with little work at most.

    They are of a wider type, or there are more of them, as with padding, which kernels alone read.
    """
    inputs = zip(kernel.inputs, kernel.sources, strict=False)
    given = {value: source for value, source in inputs if not _is_constant(value)}
    if len(kernel.results) != 1 or len(given) != 1:
        return False
    ((value, source),), ops = given.items(), kernel.body.block.ops
    (result,) = kernel.results
    if size_in_bytes(value) >= size_in_bytes(result):
        return False
    wider = bytes_of(element_type_of(value)) < bytes_of(element_type_of(result))
    if not wider and any(not isinstance(use.operation, KernelOp) for use in result.uses):
        return False
    if all(type(op) in _WIDENING for op in ops):
        return True
    if any(combined_axes(op) for op in ops):
        return False
    one = len(loads_of(source)) == 1
    return isinstance(element_type_of(value), AnyFloat) and one and body_cost(ops) <= _LITTLE


def _is_constant(value: SSAValue) -> bool:
    """Whether kernels make it of nothing."""
    todo, found = [value], set[Operation]()
    while todo:
        owner = todo.pop().owner
        if not isinstance(owner, KernelOp) or len(found) > _MOST_KERNELS:
            return False
        if owner not in found:
            found.add(owner)
            todo += owner.inputs
    return True


def recompute_costs_more(
    value: SSAValue, producer: Producer, consumer: KernelOp, loads: list[LoadOp], memory: Memory
) -> str | None:
    """Compare recomputing at each load with writing once and reading back."""
    size = count(sizes_of(value))
    factors = _factors(consumer)
    evaluated = sum(_evaluations(load, consumer, factors) for load in loads)
    work = body_cost(producer.ops)
    element = bytes_of(element_type_of(value))
    if not factors.isdisjoint(loads):
        decided, why = _as_factor(producer, consumer, size, evaluated, memory)
        if decided:
            return why
    if element_type_of(value) in POSITIONS and not any(isinstance(op, LoadOp) for op in producer.ops):
        work = max(0.0, work - POSITION_CHECKS)
    alone = reads_all(producer.kernel, consumer) and (memory.far or len(producer.kernel.results) == 1)
    if memory.far and not alone and not factors.isdisjoint(loads):
        return "it is stored anyway, and a product reads rows of it faster"
    read_back = evaluated * element * BYTE_COST
    reads = sum(_load_bytes(op) for op in producer.ops) * evaluated * BYTE_COST
    if alone:
        written = size * element * BYTE_COST
        original = sum(_load_bytes(op) for op in producer.ops) * size * BYTE_COST
        again = work * count(consumer.space) * len(factors.intersection(loads))
        again += work_at([op for op in loads if op not in factors], producer, consumer)
        extra, saved = again - work * size + reads - original, written + read_back
        if memory.far:
            saved = _free(extra, saved + 2 * size * element * MEMORY_BYTE_COST, consumer)
    else:
        extra, saved = work * evaluated + reads, read_back
    if memory.far:
        extra += _in_each_program(work, producer, consumer, loads, memory)
    if extra > saved:
        return f"recomputing it costs {extra:.0f} and saves {saved:.0f}"
    return None


def _free(extra: float, saved: float, consumer: KernelOp) -> float:
    """What `extra` work may cost: what it saves, or that and what `consumer` can do while it waits."""
    return saved if extra <= saved else saved + idle(consumer)


def computing_costs_less(
    value: OpResult, producer: Producer, consumer: KernelOp, loads: list[LoadOp], memory: Memory, saved: int
) -> bool:
    """Whether `consumer` makes a result in less time than memory takes to move it `saved` times.

    The kernel of `value` runs whatever becomes of it: it makes others as well.
    """
    evaluated = sum(_evaluations(load, consumer, frozenset()) for load in loads)
    again = sum(bytes_read([load], producer.kernel) for load in _new_loads(producer, consumer))
    work = body_cost(producer.ops)
    extra = work * evaluated + again * MEMORY_BYTE_COST
    moved = saved * count(sizes_of(value)) * bytes_of(element_type_of(value)) * MEMORY_BYTE_COST
    return extra <= moved and extra + _in_each_program(work, producer, consumer, loads, memory) <= moved


def _new_loads(producer: Producer, consumer: KernelOp) -> list[LoadOp]:
    """The loads behind a value from what `consumer` does not read so far."""
    kernel = producer.kernel
    known = {s for s, v in zip(kernel.sources, kernel.operands, strict=True) if v in consumer.operands}
    return [op for op in producer.ops if isinstance(op, LoadOp) and op.buffer not in known]


def _in_each_program(
    work: float, producer: Producer, consumer: KernelOp, loads: list[LoadOp], memory: Memory
) -> float:
    """What it costs that programs which need the same elements compute them for themselves."""
    repeats = sum(
        computed(op, consumer, memory.tile) - evaluations(op.subscripts, consumer.space) for op in loads
    )
    read = sum(map(_load_bytes, _loaded_once(producer))) - bytes_of(element_type_of(producer.value))
    again = repeats * max(0.0, work + read * NEAR_BYTE_COST)
    return max(0.0, again - affordable(consumer))


def _as_factor(
    producer: Producer, consumer: KernelOp, size: int, evaluated: int, memory: Memory
) -> tuple[bool, str | None]:
    """Whether converting or unpacking decides if a product makes a factor, and why it does not, then."""
    converted, element = conversions(producer.ops), bytes_of(element_type_of(producer.value))
    if converted and _undone(producer, consumer):
        return True, None
    work = body_cost(producer.ops) + converted
    if memory.far and _widens(producer, size, element):
        why = _widened_in_tiles(work, size, max(size, evaluated // memory.tile), element)
        return bool(converted) or why is None, why
    if not converted:
        return False, None
    # A register tile reads from the nearest cache: there, converting costs more than wide elements.
    extra, saved = work * (evaluated - size), 2 * size * element * BYTE_COST
    return True, f"converting it costs {extra:.0f} and saves {saved:.0f}" if extra > saved else None


def _widens(producer: Producer, size: int, element: int) -> bool:
    """Whether less is read than is stored, as of integers of few bits and their scales.

    In all, or for each element, but for what serves many of them.
    """
    if sum(map(_load_bytes, _loaded_once(producer))) < element:
        return True
    loads = [op for op in producer.ops if isinstance(op, LoadOp)]
    return bytes_read(loads, producer.kernel) < size * element


def _loaded_once(producer: Producer) -> list[LoadOp]:
    """The loads of which each element has its own."""
    space = producer.kernel.space
    loads = [op for op in producer.ops if isinstance(op, LoadOp)]
    return [op for op in loads if evaluations(op.subscripts, space) == count(space)]


def _widened_in_tiles(work: float, size: int, evaluated: int, element: int) -> str | None:
    """Tiles take the narrow elements from a memory that is far, and widen each once per tile."""
    extra, saved = work * (evaluated - size), 2 * size * element * MEMORY_BYTE_COST
    return f"widening it in tiles costs {extra:.0f} and saves {saved:.0f}" if extra > saved else None


def _factors(consumer: KernelOp) -> frozenset[LoadOp]:
    """The loads of the operands of a matrix product, if the consumer is one."""
    product = find_contraction(consumer.body.block)
    return frozenset() if product is None else product.sources()


def _undone(producer: Producer, consumer: KernelOp) -> bool:
    """Whether all it does is to widen what tiles of the product take as it was."""
    product = find_contraction(consumer.body.block)
    factors = None if product is None else product.reduce.attributes.get(FACTORS)
    widened = producer.value.owner
    if factors is None or not isinstance(widened, arith.ExtFOp):
        return False
    narrow = widened.input
    if is_float8(narrow.type) and isinstance(narrow.owner, arith.BitcastOp):
        return isinstance(narrow.owner.input.owner, LoadOp) and len(producer.ops) == 3
    return narrow.type == factors and isinstance(narrow.owner, LoadOp) and len(producer.ops) == 2


def _evaluations(load: LoadOp, consumer: KernelOp, factors: frozenset[LoadOp]) -> int:
    """How often the consumer needs the loaded value; a matrix product reads its operands again
    for every panel of the other one."""
    if load in factors:
        return count(consumer.space)
    return evaluations(load.subscripts, consumer.space)


def _load_bytes(op: Operation) -> int:
    return bytes_of(element_type_of(op.operands[0])) if type(op) is LoadOp else 0
