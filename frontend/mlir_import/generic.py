"""`linalg.generic` -> `tw`: operands take the shape of the loops, the body acts on whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, i1
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw import reduction
from tilewright.dialects.types import element_type, element_type_of, is_float, sizes_of

from .body import Body
from .builder import Builder, bits, elements, required, same_size
from .contraction import contraction
from .errors import cannot, name_of
from .extremes import extreme, ops_of, values_of

Reduce = Callable[[SSAValue, Sequence[int]], Operation]
Combine = Callable[[SSAValue, SSAValue], Operation]
_REDUCTIONS: Mapping[str, tuple[Reduce, Combine]] = {
    "arith.addf": (reduction.SumOp, bi.AddOp),
    "arith.addi": (reduction.SumOp, bi.AddOp),
    "arith.mulf": (reduction.ProdOp, bi.MulOp),
    "arith.muli": (reduction.ProdOp, bi.MulOp),
    "arith.maximumf": (reduction.MaxOp, bi.MaximumOp),
    "arith.maxsi": (reduction.MaxOp, bi.MaximumOp),
    "arith.minimumf": (reduction.MinOp, bi.MinimumOp),
    "arith.minsi": (reduction.MinOp, bi.MinimumOp),
    "arith.ori": (reduction.AnyOp, bi.OrOp),
    "arith.andi": (reduction.AllOp, bi.AndOp),
}
"""Body op that joins the old element with a new one -> the reduction, and what joins it with the start."""


@dataclass(frozen=True)
class Loops:
    """The loops of a generic, and which of them each operand walks along."""

    sizes: tuple[Expr, ...]
    summed: tuple[int, ...]
    maps: tuple[tuple[int | None, ...], ...]


def read_generic(
    b: Builder, op: Operation, args: Sequence[SSAValue], tensors: Mapping[SSAValue, SSAValue]
) -> list[SSAValue]:
    """The results, given the operands (inputs, then outputs) and the tensors that may be extracted from."""
    block = op.regions[0].block
    loops = _loops(op, args)
    count = len(args) - len(op.results)
    last = block.last_op
    assert last is not None
    if loops.summed and len(op.results) == 1:
        product = contraction(b, op, args, loops.maps, loops.summed)
        if product is not None:
            return [_started(b, op, product, args[-1], last.operands[0].owner)]
    body = Body(b, op, loops.sizes, tensors)
    for arg, value, along in zip(block.args[:count], args, loops.maps, strict=False):
        if arg.first_use is not None:
            body.values[arg] = _spread(b, op, value, along, loops)
    kind = extreme(b, op, args[count:], loops.summed, loops.sizes)
    if kind is not None:
        return _extremes(body, kind, loops)
    steps = _steps(op, loops)
    _read_outputs(body, args[count:], steps, loops)
    for inner in block.ops:
        if inner not in steps.values() and inner is not last:
            body.read(inner)
    return [_result(body, i, steps, args[count + i], loops) for i in range(len(op.results))]


def _read_outputs(
    body: Body, args: Sequence[SSAValue], steps: Mapping[SSAValue, Operation], loops: Loops
) -> None:
    """What outputs held before, where the body reads it and no reduction starts from it."""
    inner = body.op.regions[0].block.args[-len(args) :]
    for arg, value, along in zip(inner, args, loops.maps[-len(args) :], strict=True):
        if arg.first_use is not None and arg not in steps:
            if value in body.b.unset:
                raise cannot(body.op, "it reads an output that has no value yet")
            body.values[arg] = _spread(body.b, body.op, value, along, loops)


def _extremes(body: Body, kind: str, loops: Loops) -> list[SSAValue]:
    """The largest or smallest element along the one loop that is a reduction, and its position."""
    op, (new, place) = body.op, values_of(body.op)
    wanted = {new, place}
    for inner in reversed(list(op.regions[0].block.ops)):
        if not wanted.isdisjoint(inner.results):
            wanted.update(inner.operands)
    for inner in op.regions[0].block.ops:
        if not wanted.isdisjoint(inner.results) or name_of(inner) == "cf.assert":
            body.read(inner)
    value = body.guarded(body.value(op, new))
    reduce, find = ops_of(kind)
    (loop,) = loops.summed
    found = [body.b.add(reduce(value, [loop])), body.b.add(find(value, loop))]
    return [_placed(body, v, i, loops) for i, v in enumerate(found)]


def _loops(op: Operation, args: Sequence[SSAValue]) -> Loops:
    maps, kinds = (elements(required(op, name)) for name in ("indexing_maps", "iterator_types"))
    summed = tuple(i for i, kind in enumerate(kinds) if "reduction" in str(kind))
    found = tuple(_along(op, m.data) for m in maps if isinstance(m, AffineMapAttr))
    sizes: dict[int, Expr] = {}
    for value, along in zip(args, found, strict=True):
        for size, loop in zip(sizes_of(value), along, strict=True):
            if loop is not None:
                same_size(sizes.setdefault(loop, size), size)
    return Loops(tuple(sizes[i] for i in range(len(kinds))), summed, found)


def _along(op: Operation, map_: AffineMap) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for expr in map_.results:
        if isinstance(expr, AffineDimExpr) and expr.position not in found:
            found.append(expr.position)
        elif isinstance(expr, AffineConstantExpr) and expr.value == 0:
            found.append(None)
        else:
            raise cannot(op, f"the indexing map {map_} is no selection of loops")
    return tuple(found)


def _spread(
    b: Builder, op: Operation, value: SSAValue, along: Sequence[int | None], loops: Loops
) -> SSAValue:
    """`value` with one dimension per loop."""
    kept = [d for d, loop in enumerate(along) if loop is not None]
    dropped = [d for d in range(len(along)) if d not in kept]
    if any(sizes_of(value)[d] != ONE for d in dropped):
        raise cannot(op, "it reads only the first element along a dimension")
    value = b.transpose(value, [*kept, *dropped])
    value = b.reshape(value, sizes_of(value)[: len(kept)])
    order = sorted(range(len(kept)), key=lambda i: along[kept[i]] or 0)
    value = b.transpose(value, order)
    return b.broadcast(value, loops.sizes, sorted(loop for loop in along if loop is not None))


def _steps(op: Operation, loops: Loops) -> dict[SSAValue, Operation]:
    """Old element of an output -> the op that joins it with the new one, where loops are reductions."""
    if not loops.summed:
        return {}
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    outs = block.args[len(block.args) - len(op.results) :]
    found: dict[SSAValue, Operation] = {}
    for old, new in zip(outs, last.operands, strict=True):
        step = new.owner
        single = old.has_one_use() and isinstance(step, Operation) and old in step.operands
        if not single or new.first_use is None or not new.has_one_use():
            raise cannot(op, "an output is not a reduction of the form old + new")
        assert isinstance(step, Operation)
        element = element_type(new.type)
        logical = name_of(step) in ("arith.ori", "arith.andi")
        if name_of(step) not in _REDUCTIONS or logical != (element == i1):
            raise cannot(step, f"a reduction of {element} by it is not known")
        found[old] = step
    return found


def _placed(body: Body, value: SSAValue, number: int, loops: Loops) -> SSAValue:
    """Result `number`, which has the loops that are no reductions, as its map orders them."""
    along = loops.maps[len(loops.maps) - len(body.op.results) + number]
    left = [loop for loop in range(len(loops.sizes)) if loop not in loops.summed]
    if None in along or sorted(loop for loop in along if loop is not None) != left:
        raise cannot(body.op, "the map of an output leaves out a loop")
    return body.b.transpose(value, [left.index(loop) for loop in along if loop is not None])


def _result(
    body: Body, number: int, steps: dict[SSAValue, Operation], start: SSAValue, loops: Loops
) -> SSAValue:
    op, block = body.op, body.op.regions[0].block
    last = block.last_op
    assert last is not None
    old = block.args[len(block.args) - len(op.results) + number]
    body.b.location = op.location
    if old not in steps:
        return _placed(body, body.guarded(body.value(op, last.operands[number])), number, loops)
    step = steps[old]
    (new,) = [v for v in step.operands if v is not old]
    reduce, _ = _REDUCTIONS[name_of(step)]
    value = body.b.add(reduce(body.guarded(body.value(op, new)), loops.summed))
    return _started(body.b, op, _placed(body, value, number, loops), start, step)


def _started(b: Builder, op: Operation, value: SSAValue, start: SSAValue, step: object) -> SSAValue:
    """Join a reduction with what its output held before, unless that changes nothing."""
    assert isinstance(step, Operation)
    if start in b.unset:
        raise cannot(op, "its reduction starts from an output that has no value yet")
    name = name_of(step)
    known = b.splats.get(start)
    if known is not None and known == _identity(name, start):
        return value
    b.location = op.location
    return b.add(_REDUCTIONS[name][1](start, value))


def _identity(name: str, value: SSAValue) -> float | int:
    element = element_type_of(value)
    if name in ("arith.addf", "arith.addi", "arith.ori"):
        return 0
    if name in ("arith.mulf", "arith.muli", "arith.andi"):
        return 1
    if is_float(element):
        return float("-inf" if "max" in name else "inf")
    high = 2 ** (bits(element) - 1)
    return -high if "max" in name else high - 1
