"""How much of a tile is live at once: what a lane has to hold of each of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Call
from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tk.compute import RandomOp, ScanOp
from tilewright.dialects.tk.domain import Along, Axes, exprs_of
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.facts import Body
from .blocks import Blocks
from .cost import is_expensive, size_of_element

COSTLY = 8
"""Registers of an element of which lanes have half as many."""
ROOM = 96 * 32
"""Bits of a lane for values of its elements: its share of the registers that 16 warps have, less a quarter of
them for addresses, masks and what is on its way from memory."""
FEW, ROOM_OF_FEW = 8, 2 * ROOM
"""So many warps have twice the room."""
FILE = 65536 * 32
"""Bits of the registers of a multiprocessor whose warps have 32 lanes."""
_STATE = 4 * 32
"""Bits of the state of Philox: each of its rounds is done for all elements of a lane before the next one."""
_SCANNED = 2
"""Elements that a scan has beside each operand and its result: totals of lanes, of which it needs some."""
_PLACE = 2 * 32
"""Bits of the place that is loaded from."""
_REGISTER = 32
"""Bits of the least that compilers keep from one block of code to the next."""
_STRAIGHT = frozenset(("math.exp", "math.exp2", "math.expm1", "math.rsqrt", "math.tanh"))
"""Functions of f32 in which nothing branches; in others something does, for a few arguments."""


def live_bits(body: Body, axes: Axes) -> int:
    """The most bits of values that vary over all of `axes` and are live at the same op, per element.

    Ops run in their order, but for loads, which run where they are first read, and random numbers with what
    is made of nothing else, which come before what reads them first. Both an op's operands and its results
    are live at it, and what it works with: a place to load from that no constant tells. Stores wait for
    loads. Numbers and positions are none: they are made again.
    """
    last, drawn = _last_readers(body), _drawn(body, axes)
    live: dict[SSAValue, int] = {}
    most = 0
    for number, op in enumerate(body.ops):
        if not drawn.isdisjoint(op.results):
            continue
        if not drawn.isdisjoint(operands_of(op)):
            most = max(most, sum(live.values()) + _STATE)
            drawn = drawn.difference(operands_of(op))
        here = [*operands_of(op), *(() if isinstance(op, LoadOp) else op.results)]
        for value in here:
            if axes <= body.domains.get(value, frozenset()) and not _is_made_again(value):
                live[value] = size_of_element(value.type)
        beside = 0
        if isinstance(op, ScanOp) and axes <= body.runs[op]:
            beside = _SCANNED * len(op.operands) * size_of_element(op.result.type)
        if isinstance(op, LoadOp) and axes <= body.runs[op] and is_scattered(op, axes):
            beside = _PLACE
        most = max(most, sum(live.values()) + beside)
        live = {value: bits for value, bits in live.items() if last.get(value, -1) > number}
    return most


def _branches(op: Operation) -> bool:
    """Whether compilers make blocks of their own of a function."""
    if not is_expensive(op) or not (isinstance(op, CallOp) or op.name.startswith("math.")):
        return False
    return op.name not in _STRAIGHT or any(result.type == f64 for result in op.results)


def live_at_branches(body: Body, axes: Axes) -> int:
    """The most bits per element that are live at a function with branches: what is not read before it,
    compilers compute behind it, so what that is made of is live, each value in a register of its own."""
    branching = [number for number, op in enumerate(body.ops) if _branches(op)]
    return max((_bits_at_branch(body, number, axes) for number in branching), default=0)


def _bits_at_branch(body: Body, number: int, axes: Axes) -> int:
    behind = set(body.ops[number + 1 :])
    read = {value for op in body.ops[: number + 1] for value in op.operands}
    for op in reversed(body.ops[:number]):
        waits = isinstance(op, LoadOp | StoreOp | RandomOp | Along) or op in body.over or _branches(op)
        if not waits and all(use.operation in behind for value in op.results for use in value.uses):
            behind.add(op)
    live = {value for op in behind for value in op.operands if value.owner not in behind}
    live.update(body.ops[number].operands)
    found = [v for v in live & read if axes <= body.domains.get(v, frozenset()) and not _is_made_again(v)]
    return sum(max(_REGISTER, size_of_element(value.type)) for value in found)


def is_scattered(op: LoadOp, axes: Axes) -> bool:
    """Whether no constant leads from one of a lane's elements to the next: `d1 mod 256` of a turned row."""
    calls = [atom for expr in exprs_of(op) for atom in expr.atoms() if isinstance(atom, Call)]
    return any(v.kind == "d" and v.index in axes for call in calls for v in call.lhs.variables())


def _last_readers(body: Body) -> dict[SSAValue, int]:
    """The number of the op that reads a value last; of what is stored before a load that of none."""
    loads = max((number for number, op in enumerate(body.ops) if isinstance(op, LoadOp)), default=0)
    last: dict[SSAValue, int] = {}
    for number, op in enumerate(body.ops):
        done = len(body.ops) if isinstance(op, StoreOp) and number < loads else number
        last.update({value: max(done, last.get(value, 0)) for value in operands_of(op)})
    return last


def _drawn(body: Body, axes: Axes) -> frozenset[SSAValue]:
    """Random numbers of each element, and what is made of them and of numbers that elements share."""
    found = set[SSAValue]()
    for op in body.ops:
        varying = {
            v for v in operands_of(op) if body.domains.get(v, frozenset()) & axes and not _is_made_again(v)
        }
        alone = varying and varying <= found and not (isinstance(op, LoadOp | Along) or body.over.get(op))
        if (alone or isinstance(op, RandomOp)) and axes <= body.runs[op]:
            found.update(op.results)
    return frozenset(found)


def _is_made_again(value: SSAValue) -> bool:
    return type(value.owner) in (arith.ConstantOp, IndexOp)


def registers_wanted(body: Body, axes: Axes = frozenset()) -> int:
    """How many an element wants that varies over `axes`: two of f64, four times that where it is costly."""
    wide = [op for op in body.ops if axes <= body.runs[op] and any(r.type == f64 for r in op.results)]
    return (COSTLY if any(map(is_expensive, wide)) else 2) if wide else 1


def in_order_of_need(body: Body) -> Body:
    """The same ops, each right before the first that needs it; stores and checks come last, in their order.

    `exp(a) + exp(b) + exp(c)`: no three exponentials are live at once, wherever they stood.
    """
    found: dict[Operation, None] = {}
    todo = [(op, False) for sink in reversed(body.sinks()) for op in _owners(sink)]
    while todo:
        op, ready = todo.pop()
        if op in found:
            continue
        if ready:
            found[op] = None
        else:
            todo += [(op, True), *((owner, False) for owner in _owners(op))]
    return _in_order(body, (*found, *(op for op in body.ops if op not in found)))


def _in_order(body: Body, ops: tuple[Operation, ...]) -> Body:
    return replace(body, ops=ops, position={op: i for i, op in enumerate(ops)})


def with_first(body: Body, ops: Sequence[Operation]) -> Body:
    """The same ops, these and what they need before all others."""
    first = body.closure(ops, frozenset[SSAValue]())
    return _in_order(body, (*first, *(op for op in body.ops if op not in first)))


def rearrange(func: FuncOp, body: Body) -> None:
    """Put the ops of `func` into the order of `body`."""
    if body.ops == tuple(func.body.block.ops):
        return
    for op in body.ops:
        op.detach()
    func.body.block.add_ops(body.ops)


def keep_fewer_live(func: FuncOp, blocks: Blocks, lanes: int) -> None:
    """Put ops in order of need where lanes have no room for all that is live of their elements; and what
    branches first, where they have none for what compilers leave for behind it."""
    elements = prod(size for _, size in blocks.sizes) // (blocks.warps * lanes)
    axes = frozenset(axis for axis, size in blocks.sizes if size > 1)
    body = Body.of(func.body.block)
    live = live_bits(body, axes)
    if live * elements > ROOM and live_bits(ordered := in_order_of_need(body), axes) < live:
        body = ordered
    live = live_at_branches(body, axes)
    if live * elements > (ROOM if blocks.warps > FEW else ROOM_OF_FEW):
        first = with_first(in_order_of_need(body), [op for op in body.ops if _branches(op)])
        if live_at_branches(first, axes) < live:
            body = first
    rearrange(func, body)


def _owners(op: Operation) -> list[Operation]:
    """What makes the operands, the last one first."""
    return [value.owner for value in reversed(op.operands) if isinstance(value.owner, Operation)]
