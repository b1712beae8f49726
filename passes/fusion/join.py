"""One kernel of several that read each other: what lies between is recomputed, sums and all.

Unlike `merge` this takes kernels that reduce over different axes: it is for those whose values tiles hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import axes_of_exprs, exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import loads_of, named_axes, plain_axis, rename_axes, set_exprs, solve_axes, store_to
from ..kernels.naming import NAME, name_of, words_of
from .match import inner_sizes

_ELSEWHERE = "it is read under a mask, or at several positions"
Exprs = tuple[Expr, ...]


class Frame:
    """A common iteration space, and where in it each kernel runs."""

    def __init__(self, first: KernelOp) -> None:
        self.space = list(first.space)
        self.at: dict[KernelOp, dict[Var, Expr]] = {
            first: {Var("d", a): dim(a) for a in range(len(self.space))}
        }

    def place_producer(self, value: OpResult, reader: KernelOp) -> str | None:
        """Let the kernel of `value` make it where `reader` reads it, or say why it cannot."""
        producer = _kernel(value)
        store, places = store_to(producer.destinations[value.index]), self._read(value, reader)
        if store is None or len(places) != 1:
            return _ELSEWHERE
        found = solve_axes(store.subscripts, places.pop(), producer.space)
        return "its store cannot be inverted" if found is None else self._place(producer, found)

    def place_reader(self, value: OpResult, reader: KernelOp) -> str | None:
        """Let `reader`, which reads all of `value`, do so where its kernel makes it, or say why it cannot."""
        producer = _kernel(value)
        store = store_to(producer.destinations[value.index])
        loads = _loads(value, reader)
        places = {tuple(exprs_of(load)) for load in loads}
        if store is None or len(places) != 1 or any(len(load.operands) > 1 for load in loads):
            return _ELSEWHERE
        (place,) = places
        if any(_count(expr, reader.space) != n for expr, n in zip(place, sizes_of(value), strict=True)):
            return "only a part of it is read"
        made = [e.substitute(self.at[producer]) for e in store.subscripts]
        found = solve_axes(place, made, reader.space)
        return "its load cannot be inverted" if found is None else self._place(reader, found)

    def read_axes(self, value: OpResult, reader: KernelOp) -> frozenset[int]:
        """The axes along which `reader` reads different elements of `value`."""
        return axes_of_exprs(e for place in self._read(value, reader) for e in place)

    def agrees(self, value: OpResult, reader: KernelOp) -> bool:
        """Whether `reader` reads `value` nowhere but where it is made."""
        store = store_to(_kernel(value).destinations[value.index])
        if store is None:
            return False
        made = self._simplified(e.substitute(self.at[_kernel(value)]) for e in store.subscripts)
        return self._read(value, reader) == {made}

    def makes_all(self, kernel: KernelOp) -> bool:
        """Whether it runs at all its places, not only where a reader wants what it makes."""
        at = self.at[kernel]
        return all(_count(at[Var("d", a)], self.space) == size for a, size in enumerate(kernel.space))

    def divided(self) -> list[tuple[int, Expr]]:
        """Axes at whose quotients or remainders a kernel runs, each with the size that divides it."""
        exprs = [e for at in self.at.values() for e in at.values()]
        return [
            (var.index, inner)
            for e in exprs
            for var in sorted((v for v in e.variables() if v.kind == "d"), key=Var.key)
            for inner in inner_sizes(e, var, self.space[var.index])
        ]

    def _read(self, value: OpResult, reader: KernelOp) -> set[Exprs]:
        """Where `reader` reads `value`; an empty one stands for a gather, or a mask."""
        loads = _loads(value, reader)
        at = self.at[reader]
        places = {self._simplified(e.substitute(at) for e in exprs_of(load)) for load in loads}
        return places | {()} if any(len(load.operands) > 1 for load in loads) else places

    def _simplified(self, exprs: Iterable[Expr]) -> Exprs:
        bounds = Bounds(tuple(self.space))
        single = {Var("d", a): ZERO for a, size in enumerate(self.space) if size.constant == 1}
        return tuple(bounds.simplify(e.substitute(single)) for e in exprs)

    def _place(self, kernel: KernelOp, known: Mapping[int, Expr]) -> str | None:
        """`known` are some of its axes, the others new. What it reduces or stores over must be one axis."""
        values = dict(zip(known, self._simplified(known.values()), strict=True))
        found = {Var("d", axis): place for axis, place in values.items()}
        named = {a for op in kernel.body.block.ops for a in named_axes(op)}
        if any(plain_axis(values[a]) is None for a in sorted(named & values.keys())):
            return "it reduces or scatters along what is no axis of the reader"
        for axis, size in enumerate(kernel.space):
            if axis not in values:
                found[Var("d", axis)] = dim(len(self.space))
                self.space.append(size)
        self.at[kernel] = found
        return None


def join(kernels: Sequence[KernelOp], kept: Sequence[SSAValue], frame: Frame) -> KernelOp | str:
    """The kernels, in order, as one that is in no block yet, or why they cannot be.

    Its results are `kept`, its axes those of the frame along which any of them runs. What they read of each
    other is a scalar of its body.
    """
    inside, stored = set(kernels), set(kept)
    for kernel in kernels:
        if not stored.isdisjoint(kernel.results) and not frame.makes_all(kernel):
            return "all of it is stored, and only a part of it is read here"
        for value in kernel.operands:
            if isinstance(value, OpResult) and value.op in inside and not frame.agrees(value, kernel):
                return _ELSEWHERE
    used = sorted(axes_of_exprs(e for k in kernels for e in frame.at[k].values()))
    names = {Var("d", old): dim(new) for new, old in enumerate(used)}
    space = [frame.space[a] for a in used]
    made = KernelOp.make(space, [v for k in kernels for v in k.operands], [r.type for r in kept])
    made.location = kernels[-1].location
    made.attributes = dict(kernels[-1].attributes)
    words = (w for k in kernels for w in words_of(k))
    made.attributes[NAME] = name_of(words)
    ends = dict(zip(kept, made.destinations, strict=True))
    sources = iter(made.sources)
    values: dict[SSAValue, SSAValue] = {}
    for kernel in kernels:
        values |= zip(kernel.sources, sources, strict=False)
        at = {axis: e.substitute(names) for axis, e in frame.at[kernel].items()}
        _append(kernel, made, values, at, ends)
    return made


def _append(
    kernel: KernelOp,
    made: KernelOp,
    values: dict[SSAValue, SSAValue],
    at: Mapping[Var, Expr],
    ends: Mapping[SSAValue, SSAValue],
) -> None:
    """Copy the body of `kernel`; what is loaded from an earlier one is the value that it would store."""
    results = dict(zip(kernel.destinations, kernel.results, strict=True))
    values |= {d: ends[r] for d, r in results.items() if r in ends}
    known = {s: v for s, v in zip(kernel.sources, kernel.operands, strict=True) if v in values}
    bounds = Bounds(made.space)
    for op in kernel.body.block.ops:
        if isinstance(op, LoadOp) and op.buffer in known:
            values[op.result] = values[known[op.buffer]]
            continue
        if isinstance(op, StoreOp):
            values[results[op.buffer]] = values[op.value]
            if results[op.buffer] not in ends:
                continue
        _place(op, made, values, at, bounds)


def _place(
    op: Operation, made: KernelOp, values: dict[SSAValue, SSAValue], at: Mapping[Var, Expr], bounds: Bounds
) -> None:
    copy = op.clone(values)
    if exprs := exprs_of(op):
        set_exprs(copy, [bounds.simplify(e.substitute(at)) for e in exprs])
    if named := named_axes(op):
        plain = {a: plain_axis(at[Var("d", a)]) for a in named}
        rename_axes([copy], {a: (axis,) for a, axis in plain.items() if axis is not None})
    made.body.block.add_op(copy)
    values |= zip(op.results, copy.results, strict=True)


def _count(expr: Expr, space: Sequence[Expr]) -> Expr:
    """How many places an expression of axes names, each of them once."""
    return prod((space[a] for a in sorted(axes_of_exprs([expr]))), start=as_expr(1))


def _loads(value: SSAValue, reader: KernelOp) -> list[LoadOp]:
    return loads_of(reader.sources[list(reader.operands).index(value)])


def _kernel(value: OpResult) -> KernelOp:
    assert isinstance(value.op, KernelOp)
    return value.op
