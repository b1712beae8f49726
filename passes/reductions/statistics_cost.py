"""What it moves and computes to make a result of a kernel again in the kernel that reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, sizes_of

from ..fusion.cost import MEMORY_BYTE_COST, body_cost, count, evaluations
from ..fusion.repeats import bytes_read
from ..kernels.body import loads_apart, loads_of
from ..kernels.facts import Body


def costs_more(
    kernel: KernelOp, wide: Mapping[OpResult, StoreOp], reader: KernelOp, body: Body, found: list[SSAValue]
) -> str | None:
    """Compare what is moved, and what is computed again, with writing `wide` and reading it.

    What `kernel` reads and computes for `wide` alone, it does no more. `found` are its statistics.
    """
    stays = _stays(body, wide.values(), found)
    ops = body.closure(list(wide.values()), frozenset(found))
    written = sum(count(sizes_of(value)) * bytes_of(element_type_of(value)) for value in wide)
    statistics = sum(
        count([kernel.space[a] for a in sorted(body.domains[value])]) * bytes_of(value.type)
        for value in found
    )
    moved = 2 * statistics + _read(kernel, reader, [op for op in ops if isinstance(op, LoadOp)])
    moved -= _spared(kernel, stays)
    if moved * 10 > 2 * written * 9:
        return f"to make it again would move {moved} bytes of {2 * written}"
    extra = -body_cost([op for op in ops if op not in stays]) * count(kernel.space)
    for value, store in wide.items():
        evaluated = sum(evaluations(load.subscripts, reader.space) for load in places(value, reader))
        extra += body_cost(body.closure([store], frozenset(found))) * evaluated
    saved = (2 * written - moved) * MEMORY_BYTE_COST
    return f"making it again costs {extra:.0f} and saves {saved:.0f}" if extra > saved else None


def places(value: SSAValue, reader: KernelOp) -> list[LoadOp]:
    """A load of `value` for each place at which `reader` reads it."""
    return loads_apart(reader.sources[list(reader.operands).index(value)])


def _stays(body: Body, stores: Collection[StoreOp], found: list[SSAValue]) -> set[Operation]:
    """What the kernel does for anything but `stores`, and for what these take of reductions."""
    others = [op for op in body.sinks() if op not in stores]
    others += [value.op for value in found if isinstance(value, OpResult)]
    return set(body.closure(others, frozenset[SSAValue]()))


def _spared(kernel: KernelOp, stays: set[Operation]) -> int:
    """Bytes that nothing that stays reads."""
    read = {op.buffer for op in stays if isinstance(op, LoadOp)}
    return bytes_read([op for s in kernel.sources if s not in read for op in loads_of(s)], kernel)


def _read(kernel: KernelOp, reader: KernelOp, loads: list[LoadOp]) -> int:
    """Bytes that `loads` of `kernel` touch of what `reader` does not read yet."""
    operands = dict(zip(kernel.sources, kernel.operands, strict=True))
    return bytes_read([op for op in loads if operands[op.buffer] not in reader.operands], kernel)
