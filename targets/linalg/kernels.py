"""`tk.kernel` -> `linalg.generic`: one per reduction of the body, one per result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr, Var, dim
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.attributes import MapAttr
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ArgReduceOp, ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, is_float, scalar_type, sizes_of

from .errors import LEAVE_OUT, CannotExport
from .generic import Operand, generic
from .scalars import combined, identity, write_index, write_scalar
from .writer import Writer, spell, tensor

_GONE = "its result is needed element by element; linalg has no op of this kind"

Finish = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
"""Names of the computed values and of the output's old elements -> names of the new elements."""
Key = SSAValue | tuple[SSAValue, MapAttr]


@dataclass(frozen=True)
class _Reduced:
    """The tensor that a reduction of the body has become, over some axes."""

    value: str
    element: Attribute
    axes: tuple[int, ...]


@dataclass
class _Kernel:
    """A kernel on its way out: what its arguments are called, what is reduced already."""

    w: Writer
    op: KernelOp
    buffers: dict[SSAValue, str]
    reduced: dict[SSAValue, _Reduced] = field(default_factory=dict[SSAValue, _Reduced])
    checked: set[AssertOp] = field(default_factory=set[AssertOp])


def write_kernel(w: Writer, op: KernelOp, operands: Sequence[str]) -> list[str]:
    """Write a kernel; gives the names of its results."""
    k = _Kernel(w, op, dict(zip(op.sources, operands, strict=True)))
    for inner in op.body.block.ops:
        w.at(inner)
        if isinstance(inner, ReduceOp):
            _reduce(k, inner)
        elif isinstance(inner, ArgReduceOp):
            _argreduce(k, inner)
        elif isinstance(inner, StoreOp):
            k.buffers[inner.buffer] = _store(k, inner)
    unchecked = [a for a in op.body.block.ops if isinstance(a, AssertOp) and a not in k.checked]
    if unchecked:
        raise CannotExport(unchecked[0], reason="no result depends on what it checks", advice=LEAVE_OUT)
    return [k.buffers[d] for d in op.destinations]


# What a value depends on


def _cone(k: _Kernel, values: Sequence[SSAValue]) -> list[Operation]:
    """The ops that compute `values` from loads and finished reductions, in order."""
    wanted = {v for v in values if v not in k.reduced}
    found: list[Operation] = []
    for op in reversed(list(k.op.body.block.ops)):
        if wanted.isdisjoint(op.results):
            continue
        if not isinstance(op, LoadOp | IndexOp) and op.name.startswith("tk.") and op.name != "tk.call":
            raise CannotExport(op, reason=_GONE, advice=LEAVE_OUT)
        found.append(op)
        wanted |= {v for v in op.operands if v not in k.reduced and v not in k.buffers}
    return found[::-1]


def _axes(k: _Kernel, values: Sequence[SSAValue], cone: Sequence[Operation]) -> set[int]:
    """The axes over which the values of a cone vary."""
    exprs = [e for op in cone if isinstance(op, LoadOp | IndexOp) for e in op.map.exprs]
    axes = {v.index for e in exprs for v in e.variables() if v.kind == "d"}
    used = [*values, *(v for op in cone for v in op.operands)]
    return axes.union(*(k.reduced[v].axes for v in used if v in k.reduced))


# Reductions


def _loops(k: _Kernel, values: Sequence[SSAValue], over: Sequence[int]) -> tuple[list[int], list[int]]:
    """All axes of a reduction, and those that stay."""
    axes = sorted(_axes(k, values, _cone(k, values)) | set(over))
    return axes, [a for a in axes if a not in over]


def _reduce(k: _Kernel, op: ReduceOp) -> None:
    axes, kept = _loops(k, [op.value], op.over)
    kind, type_ = op.kind.data, op.result.type
    init = _filled(k, identity(kind, type_), type_, kept)
    out = _out(k, init, type_, axes, kept)

    def body(values: Sequence[str], olds: Sequence[str]) -> list[str]:
        return [combined(k.w, kind, type_, olds[0], values[0])]

    (name,) = _nest(k, axes, op.over, [op.value], [out], body)
    k.reduced[op.result] = _Reduced(name, type_, tuple(kept))


def _argreduce(k: _Kernel, op: ArgReduceOp) -> None:
    """NaN wins, then the extreme, then the smaller index: no order of the loop is assumed."""
    axes, kept = _loops(k, [op.value, op.index], op.over)
    kind, type_ = op.kind.data, op.extreme.type
    first = identity({"max": "or", "min": "and"}[kind] if str(type_) == "i1" else kind, type_)
    extreme = _out(k, _filled(k, first, type_, kept), type_, axes, kept)
    position = _out(k, _filled(k, 2**63 - 1, i64, kept), i64, axes, kept)

    def body(values: Sequence[str], olds: Sequence[str]) -> list[str]:
        take = _takes(k.w, kind, type_, values, olds)
        types = (spell(type_), "i64")
        return [
            k.w.value(f"arith.select {take}, {new}, {old} : {t}")
            for new, old, t in zip(values, olds, types, strict=True)
        ]

    names = _nest(k, axes, op.over, [op.value, op.index], [extreme, position], body)
    for result, name, element in zip(op.results, names, (type_, i64), strict=True):
        k.reduced[result] = _Reduced(name, element, tuple(kept))


def _takes(w: Writer, kind: str, type_: Attribute, values: Sequence[str], olds: Sequence[str]) -> str:
    """Whether a new (value, index) replaces the old one."""
    t, (new, place), (old, before) = spell(type_), values, olds
    compare = "arith.cmpf" if is_float(type_) else "arith.cmpi"
    sign = "o" if is_float(type_) else "u" if t == "i1" else "s"
    better = w.value(f"{compare} {sign}{'gt' if kind == 'max' else 'lt'}, {new}, {old} : {t}")
    equal = w.value(f"{compare} {'oeq' if is_float(type_) else 'eq'}, {new}, {old} : {t}")
    if is_float(type_):
        nan, was_nan = (w.value(f"arith.cmpf uno, {v}, {v} : {t}") for v in (new, old))
        number = w.value(f"arith.cmpf ord, {old}, {old} : {t}")
        better = w.value(f"arith.ori {better}, {w.value(f'arith.andi {nan}, {number} : i1')} : i1")
        equal = w.value(f"arith.ori {equal}, {w.value(f'arith.andi {nan}, {was_nan} : i1')} : i1")
    earlier = w.value(f"arith.cmpi slt, {place}, {before} : i64")
    tie = w.value(f"arith.andi {equal}, {earlier} : i1")
    return w.value(f"arith.ori {better}, {tie} : i1")


def _filled(k: _Kernel, value: float | int, element: Attribute, kept: Sequence[int]) -> str:
    return k.w.filled(k.w.constant(value, element), element, [k.op.space[a] for a in kept])


def _out(k: _Kernel, value: str, element: Attribute, axes: Sequence[int], kept: Sequence[int]) -> Operand:
    sizes = tuple(k.op.space[a] for a in kept)
    return Operand(value, element, sizes, tuple(axes.index(a) for a in kept))


# Results


def _store(k: _Kernel, op: StoreOp) -> str:
    sizes, element = sizes_of(op.buffer), scalar_type(element_type_of(op.buffer))
    axes = _stored_axes(k, op, sizes)
    done = k.reduced.get(op.value)
    if done is not None and list(done.axes) == axes and done.element == element:
        return done.value
    if isinstance(op.value.owner, ConstantOp):
        constant = write_scalar(k.w, op.value.owner, {})
        return k.w.filled(constant, element, sizes)
    if not _axes(k, [op.value], _cone(k, [op.value])) <= {a for a in axes if a is not None}:
        raise CannotExport(op, reason="the value varies over an axis that is not stored", advice=LEAVE_OUT)
    out = Operand(k.w.empty(element, sizes), element, sizes, tuple(range(len(sizes))))
    return _nest(k, axes, (), [op.value], [out], lambda values, olds: list(values))[0]


def _stored_axes(k: _Kernel, op: StoreOp, sizes: Sequence[Expr]) -> list[int | None]:
    """The axis along each dimension of the destination; None where its size is 1."""
    axes: list[int | None] = []
    for expr, size in zip(op.map.exprs, sizes, strict=True):
        axis = next((a for a, n in enumerate(k.op.space) if expr == dim(a) and n == size), None)
        if axis is None and not (expr.constant == 0 and size.constant == 1):
            raise CannotExport(op, reason="it stores to a computed place", advice=LEAVE_OUT)
        axes.append(axis)
    if len(op.operands) != 2 or op.combine is not None:
        raise CannotExport(op, reason="it stores to some places only, or adds to memory", advice=LEAVE_OUT)
    return axes


# Loops


def _nest(
    k: _Kernel,
    axes: Sequence[int | None],
    over: Sequence[int],
    values: Sequence[SSAValue],
    outs: Sequence[Operand],
    finish: Finish,
) -> list[str]:
    """A generic over `axes` that computes `values`, then `finish(values, old elements)`."""
    cone = _cone(k, values)
    ins: dict[Key, Operand] = {}
    keys: dict[SSAValue, Key] = {}
    loop_of = {a: i for i, a in enumerate(axes) if a is not None}
    for op in cone:
        if isinstance(op, LoadOp) and (operand := _operand(k, op, loop_of)) is not None:
            keys[op.result] = (op.buffer, op.map)
            ins[op.buffer, op.map] = operand
    for value in {v: None for v in (*values, *(v for op in cone for v in op.operands)) if v in k.reduced}:
        found = k.reduced[value]
        sizes = tuple(k.op.space[a] for a in found.axes)
        keys[value] = value
        ins[value] = Operand(found.value, found.element, sizes, tuple(loop_of[a] for a in found.axes))
    places = {key: i for i, key in enumerate(ins)}

    def body(args: Sequence[str]) -> Sequence[str]:
        names = {value: args[places[key]] for value, key in keys.items()}
        _write_body(k, cone, names, loop_of)
        return finish([names[v] for v in values], args[len(args) - len(outs) :])

    loops = [k.op.space[a] if a is not None else ONE for a in axes]
    summed = [loop_of[a] for a in over]
    return generic(k.w, loops, summed, list(ins.values()), outs, body)


def _operand(k: _Kernel, op: LoadOp, loop_of: dict[int, int]) -> Operand | None:
    """The load as an operand of the generic; None where its subscripts are not plain axes."""
    if len(op.operands) != 1:
        return None
    loops: list[int | None] = []
    sizes = sizes_of(op.buffer)
    for expr, size in zip(op.subscripts, sizes, strict=True):
        axis = next((a for a in loop_of if expr == dim(a) and k.op.space[a] == size), None)
        if axis is None and not (expr.constant == 0 and size.constant == 1):
            return None
        loops.append(None if axis is None else loop_of[axis])
    return Operand(k.buffers[op.buffer], op.result.type, sizes, tuple(loops))


def _write_body(
    k: _Kernel, cone: Sequence[Operation], names: dict[SSAValue, str], loop_of: dict[int, int]
) -> None:
    axes = {
        Var("d", a): k.w.value(f"linalg.index {i} : index")
        for a, i in loop_of.items()
        if _indexed(cone, names, a)
    }
    for op in cone:
        if op.results[0] in names:
            continue
        k.w.at(op)
        if isinstance(op, LoadOp):
            names[op.result] = _extract(k, op, names, axes)
        elif isinstance(op, IndexOp):
            names[op.result] = write_index(k.w, op, axes)
        else:
            names[op.results[0]] = write_scalar(k.w, op, names)
    for check in k.op.body.block.ops:
        if isinstance(check, AssertOp) and check not in k.checked and check.condition in names:
            k.checked.add(check)
            k.w.at(check)
            k.w.line(f'cf.assert {names[check.condition]}, "{check.message.data}"')


def _indexed(cone: Sequence[Operation], names: dict[SSAValue, str], axis: int) -> bool:
    """Whether the number of an axis is used in the body."""
    exprs = [
        e for op in cone if isinstance(op, LoadOp | IndexOp) and op.result not in names for e in op.map.exprs
    ]
    return any(Var("d", axis) in e.variables() for e in exprs)


def _extract(k: _Kernel, op: LoadOp, names: dict[SSAValue, str], axes: dict[Var, str]) -> str:
    """Read one element by its subscripts; under a mask only where it holds."""
    w = k.w
    if op.mask is None or op.other is None:
        return _element(k, op, names, axes)
    type_, found = spell(op.result.type), w.fresh()

    def otherwise() -> str:
        return f"}} else {{ scf.yield {names[op.other]} : {type_} }}"  # pyright: ignore[reportArgumentType]

    with w.block(f"{found} = scf.if {names[op.mask]} -> ({type_}) {{", otherwise):
        w.line(f"scf.yield {_element(k, op, names, axes)} : {type_}")
    return found


def _element(k: _Kernel, op: LoadOp, names: dict[SSAValue, str], axes: dict[Var, str]) -> str:
    known = {**axes, **{Var("i", i): names[v] for i, v in enumerate(op.dynamic)}}
    places = [k.w.index(e, known) for e in op.subscripts]
    type_ = tensor(op.result.type, sizes_of(op.buffer))
    return k.w.value(f"tensor.extract {k.buffers[op.buffer]}[{', '.join(places)}] : {type_}")
