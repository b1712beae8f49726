"""How often a GPU computes what a kernel reads: programs share nothing, so each makes it for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, SSAValue

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Axes, axes_of_op, domains_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, sizes_of

from ..kernels.body import solve_axes
from ..kernels.chains import find_chain
from .cost import MEMORY_BYTE_COST, axes_read, body_cost, count, evaluations, extent, op_cost
from .inline import Producer

_HIDDEN = 0.5
"""What part of the time that its memory takes a kernel may compute more, and take no longer."""
_BUSY = 0.75
"""What part of that time all that it computes may take."""
_OF_LANE = 4
"""Elements that each lane of an elementwise kernel has, or more: 16 bytes of f32."""
LAUNCH = 60e6
"""What a GPU computes in the microsecond that it takes to begin one more kernel."""


def work_at(loads: Sequence[LoadOp], producer: Producer, reader: KernelOp) -> float:
    """What it costs to compute a result again for all points at which `reader` loads it.

    What does not vary along an axis that the reader reduces is computed before its loop: of a sum over
    windows of 3 x 3, what `d0 + d2` decides three times, not nine.
    """
    reduced = frozenset[int]().union(*map(reduced_axes, ops_of(reader.body.block)))
    if not reduced:
        return body_cost(producer.ops) * sum(evaluations(op.subscripts, reader.space) for op in loads)
    domains, total = domains_of(producer.kernel.body.block), 0.0
    runs = [(op_cost(op), axes_of_op(op, domains)) for op in producer.ops]
    for load in loads:
        axes = axes_read(load.subscripts, reader.space)
        places = solve_axes(producer.stored_at, load.subscripts, producer.kernel.space) or {}
        for cost, run in runs:
            along = axes_read([places[axis] for axis in run if axis in places], reader.space)
            total += cost * count([reader.space[a] for a in sorted(axes - (reduced - along))])
    return total


def computed(load: LoadOp, reader: KernelOp, tile: int) -> int:
    """How often programs compute what is loaded, once per point of a program's own axes.

    A value that lacks an axis of programs is made again along it: one of `[4096, 64]` in `[8, 4096, 64]`
    eight times; one that has no axis by each lane, for all of its elements. Of chained products a program has
    `tile` rows, so that keys are made again for so many. What belongs to pairs of a row and a key is not
    counted: masks that are computed bound the loop along keys.
    """
    space, block = reader.space, reader.body.block
    own = evaluations(load.subscripts, space)
    axes = axes_read(load.subscripts, space)
    if len(axes) == len(space) or find_contraction(block) is not None:
        return own
    chain = find_chain(block)
    if chain is None:
        points = own * count([space[axis] for axis in sorted(_needed_along(load, block) - axes)])
        return points if axes else -(-points // _OF_LANE)
    if axes >= {chain.row, chain.along}:
        return own
    others = set(range(len(space))) - axes - {chain.along, chain.row, *chain.around, *chain.held}
    blocks = 1 if chain.row in axes else -(-extent(space[chain.row]) // tile)
    return own * blocks * count([space[axis] for axis in sorted(others)])


def _needed_along(load: LoadOp, block: Block) -> Axes:
    """The axes of what is made of a loaded value, without what is reduced: a program has all of it."""
    domains, reached = domains_of(block), {load.result}
    axes, reduced = set[int](), set[int]()
    for op in block.ops:
        reduced.update(reduced_axes(op))
        if not reached.isdisjoint(op.operands):
            reached.update(op.results)
            axes |= axes_of_op(op, domains)
    return frozenset(axes - reduced)


def affordable(kernel: KernelOp) -> float:
    """What programs may compute more: while another kernel would begin, or while they wait for memory.

    Products do not wait for it.
    """
    block = kernel.body.block
    waits = find_contraction(block) is None and find_chain(block) is None
    return max(LAUNCH, hidden(kernel)) if waits else LAUNCH


def idle(kernel: KernelOp) -> float:
    """What a kernel might compute more while it waits for memory, beside what it does; no product waits."""
    block = kernel.body.block
    if find_contraction(block) is not None or find_chain(block) is not None:
        return 0.0
    return max(0.0, _BUSY / _HIDDEN * hidden(kernel) - body_cost(block.ops) * count(kernel.space))


def hidden(kernel: KernelOp) -> float:
    """What is computed while a kernel waits for memory."""
    moved = sum(map(size_in_bytes, (*kernel.operands, *kernel.results)))
    return _HIDDEN * MEMORY_BYTE_COST * moved


def size_in_bytes(value: SSAValue) -> int:
    """All of a tensor."""
    return count(sizes_of(value)) * bytes_of(element_type_of(value))


def bytes_read(loads: Iterable[LoadOp], kernel: KernelOp) -> int:
    """What `loads` take of tensors, in bytes: each place once, and of no tensor more than there is."""
    places = dict[SSAValue, dict[object, LoadOp]]()
    for load in loads:
        places.setdefault(load.buffer, {})[(load.map, *load.dynamic)] = load
    return sum(_bytes_at(apart.values(), source, kernel) for source, apart in places.items())


def _bytes_at(loads: Iterable[LoadOp], source: SSAValue, kernel: KernelOp) -> int:
    elements = sum(evaluations(load.subscripts, kernel.space) for load in loads)
    return min(elements, count(sizes_of(source))) * bytes_of(element_type_of(source))
