"""Which inputs of a kernel may share memory with which output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.calls import AssertOp, CallOp
from tilewright.dialects.tk.compute import RandomOp, ScanOp
from tilewright.dialects.tk.domain import REDUCTIONS
from tilewright.dialects.types import element_type_of

from ..memory.disjoint import Region, apart
from .stored_last import Loops

_POINTWISE = ("arith", "math")
_UNDERSTOOD = REDUCTIONS | {ScanOp, LoadOp, StoreOp, IndexOp, RandomOp, CallOp, AssertOp}


def inplace_pairs(
    ops: Sequence[Operation],
    sizes: Sequence[Expr],
    ins: Sequence[SSAValue],
    outs: Sequence[SSAValue],
    *,
    once: bool = False,
) -> list[tuple[int, int]]:
    """(input, output) pairs for which one buffer may serve as both, each pair by itself.

    Safe where every iteration reads, of that input, only the element that it later writes:
    all loads have the very subscript of the one store (and its mask, if it has one), and no loop can run
    again over elements already written. The latter holds with a single store, which every load
    precedes; of several for one that is done for every element, by the loops that read the input last
    (`Loops.store_last`; `once` is what it is there). Of several stores one may stand between the loads: it
    shares with none that are read after it.
    What a check depends on is not changed: of GPU threads that hold an element one stores it.
    Stores at loaded positions have loops of their own, which load again: where one plain store fills what
    they change, and nothing else needs an input that it loads, its copy may be the input itself.
    """
    if not all(_is_understood(op) for op in ops):
        return []
    stores = [op for op in ops if isinstance(op, StoreOp)]
    if any(store.scatters for store in stores):
        return [pair for update in _updates(ops, stores) for pair in _updated_in_place(update, ins, outs)]
    order = {op: number for number, op in enumerate(ops)}
    loops = Loops(ops, sizes, once)
    checked = _loads_behind([op for op in ops if isinstance(op, AssertOp)])
    region = cache(partial(_region, sizes=sizes))
    pairs: list[tuple[int, int]] = []
    for o, out in enumerate(outs):
        store = _stored_by(out)
        if store is None:
            continue
        for i, value in enumerate(ins):
            if element_type_of(value) != element_type_of(out):
                continue
            loads = _loads_where_stored(value, store, region)
            if loads is None:
                continue
            before = all(order[load] < order[store] for load in loads)
            if not before or not checked.isdisjoint(loads):
                continue
            if len(stores) > 1 and not loops.store_last(store, loads):
                continue
            pairs.append((i, o))
    return pairs


@dataclass(frozen=True)
class _Update:
    """One plain store that fills a result, and stores that scatter to it later."""

    fill: StoreOp
    others: frozenset[Operation]
    """Loads on which other stores and the checks depend."""


def _updates(ops: Sequence[Operation], stores: Sequence[StoreOp]) -> list[_Update]:
    """Of each result that is scattered to; none where it is not filled first, or by what is reduced."""
    found: list[_Update] = []
    effects = [op for op in ops if isinstance(op, StoreOp | AssertOp)]
    for buffer in dict.fromkeys(store.buffer for store in stores if store.scatters):
        fill, *later = (store for store in stores if store.buffer is buffer)
        if fill.scatters or fill.mask is not None or not all(store.scatters for store in later):
            continue
        if any(type(op) in REDUCTIONS for op in _behind([fill])):
            continue
        found.append(_Update(fill, _loads_behind([op for op in effects if op is not fill])))
    return found


def _updated_in_place(
    update: _Update, ins: Sequence[SSAValue], outs: Sequence[SSAValue]
) -> list[tuple[int, int]]:
    o, element = outs.index(update.fill.buffer), element_type_of(update.fill.buffer)
    return [
        (i, o)
        for i, value in enumerate(ins)
        if element_type_of(value) == element
        and _read_only_at(value, update.fill.subscripts)
        and update.others.isdisjoint(_accesses(value))
    ]


def _loads_behind(ops: Sequence[Operation]) -> frozenset[Operation]:
    """The loads of which `ops` are made."""
    return frozenset(op for op in _behind(ops) if isinstance(op, LoadOp))


def _behind(ops: Sequence[Operation]) -> set[Operation]:
    """All of which `ops` are made."""
    found, todo = set[Operation](), list(ops)
    while todo:
        for operand in todo.pop().operands:
            if isinstance(owner := operand.owner, Operation) and owner not in found:
                found.add(owner)
                todo.append(owner)
    return found


def _accesses(buffer: SSAValue) -> list[Operation]:
    return [use.operation for use in buffer.uses]


def _is_understood(op: Operation) -> bool:
    if type(op) in _UNDERSTOOD:
        return True
    return op.name.partition(".")[0] in _POINTWISE and not op.regions


def _stored_by(out: SSAValue) -> StoreOp | None:
    """The only access to `out`, None unless that is a store that does not scatter."""
    accesses = _accesses(out)
    if len(accesses) != 1 or not isinstance(store := accesses[0], StoreOp) or store.scatters:
        return None
    return store


def _loads_where_stored(
    value: SSAValue, store: StoreOp, region: Callable[[LoadOp | StoreOp], Region | None]
) -> list[LoadOp] | None:
    """What reads of `value` what `store` writes there in the same iteration, nothing where it is masked.

    None if something may read what another iteration writes; loads of other places are not of concern.
    """
    loads: list[LoadOp] = []
    for op in _accesses(value):
        if not isinstance(op, LoadOp):
            return None
        if op.map == store.map and not op.dynamic and store.mask in (None, op.mask):
            loads.append(op)
        elif not apart(region(op), region(store)):
            return None
    return loads if value.first_use is not None else None


def _region(op: LoadOp | StoreOp, *, sizes: Sequence[Expr]) -> Region | None:
    """Where in memory `op` reads or writes, as far as that is known."""
    if op.dynamic or len(op.subscripts) != 1:
        return None
    return Region.at(op.subscripts[0], sizes)


def _read_only_at(value: SSAValue, subscript: tuple[Expr, ...]) -> bool:
    accesses = _accesses(value)
    return bool(accesses) and all(
        isinstance(op, LoadOp) and not op.dynamic and op.subscripts == subscript for op in accesses
    )
