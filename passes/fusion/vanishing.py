"""Small kernels that need not run: what reads them can compute what they make while it waits for memory."""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, sizes_of

from .body import loads_of
from .cost import MEMORY_BYTE_COST, body_cost, count, evaluations
from .inline import axis_values, producer_of

_LARGEST = 1 << 20
"""Bytes that a GPU moves in less time than it needs to begin a kernel."""
_HIDDEN = 0.5
"""What part of the time that its memory takes a kernel may compute more, and take no longer."""


def vanishes(kernel: KernelOp) -> bool:
    """Whether each reader of its results can compute them again, and nobody needs them in memory."""
    if sum(_bytes(result) for result in kernel.results) > _LARGEST:
        return False
    work: dict[KernelOp, float] = {}
    for result in kernel.results:
        for use in result.uses:
            reader = use.operation
            if not isinstance(reader, KernelOp):
                return False
            again = _computed_again(result, reader, use.index)
            if again is None:
                return False
            work[reader] = work.get(reader, 0) + again
    return all(more <= _HIDDEN * MEMORY_BYTE_COST * _moved(reader) for reader, more in work.items())


def _computed_again(value: OpResult, reader: KernelOp, operand: int) -> float | None:
    """What it costs, None where it cannot be."""
    producer = producer_of(value)
    if isinstance(producer, str) or find_contraction(reader.body.block) is not None:
        return None
    loads = loads_of(reader.sources[operand])
    if any(isinstance(axis_values(producer, load, reader.space), str) for load in loads):
        return None
    return body_cost(producer.ops) * sum(evaluations(load.subscripts, reader.space) for load in loads)


def _moved(kernel: KernelOp) -> int:
    return sum(map(_bytes, (*kernel.operands, *kernel.results)))


def _bytes(value: SSAValue) -> int:
    return count(sizes_of(value)) * bytes_of(element_type_of(value))
