"""`linalg.generic` -> `tw`: operands take the shape of the loops, the body acts on whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, TensorType, i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw import reduction
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.types import element_type, element_type_of, is_float, sizes_of

from .builder import Builder, bits, elements, required, same_size, scalar_constant
from .contraction import contraction
from .errors import cannot, name_of
from .scalars import read_scalar

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


def read_generic(b: Builder, op: Operation, args: Sequence[SSAValue]) -> list[SSAValue]:
    """The results of a generic, given its operands (inputs, then outputs)."""
    block = op.regions[0].block
    loops = _loops(op, args)
    count = len(args) - len(op.results)
    last = block.last_op
    assert last is not None
    if loops.summed and len(op.results) == 1:
        product = contraction(b, op, args, loops.maps, loops.summed)
        if product is not None:
            return [_started(b, op, product, args[-1], last.operands[0].owner)]
    values: dict[SSAValue, SSAValue] = {}
    for arg, value, along in zip(block.args[:count], args, loops.maps, strict=False):
        if arg.first_use is not None:
            values[arg] = _spread(b, op, value, along, loops)
    steps = _steps(op, loops)
    for arg, value, along in zip(block.args[count:], args[count:], loops.maps[count:], strict=True):
        if arg.first_use is not None and arg not in steps:
            if value in b.unset:
                raise cannot(op, "it reads an output that has no value yet")
            values[arg] = _spread(b, op, value, along, loops)
    for inner in block.ops:
        if inner not in steps.values() and inner is not last:
            _body_op(b, inner, values, loops)
    return [_result(b, op, i, values, steps, args[count + i], loops) for i in range(len(op.results))]


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


def _body_op(b: Builder, op: Operation, values: dict[SSAValue, SSAValue], loops: Loops) -> None:
    name = name_of(op)
    b.location = op.location
    args = [values.get(v) or _captured(b, op, v, loops) for v in op.operands]
    if name == "linalg.index":
        result = b.add(IotaOp(i64, loops.sizes, int(str(required(op, "dim")).split()[0])))
    elif name in ("arith.index_cast", "arith.index_castui"):
        target = element_type(op.results[0].type)
        result = args[0] if str(target) == "index" else b.cast(args[0], target)
    elif name == "arith.constant":
        result = _constant(b, op, loops)
    else:
        found = read_scalar(b, op, args)
        if found is None:
            raise cannot(op, "no op of tw computes it element by element")
        result = found
    values[op.results[0]] = result


def _constant(b: Builder, op: Operation, loops: Loops) -> SSAValue:
    value, element = scalar_constant(op)
    return b.full(value, element, loops.sizes)


def _captured(b: Builder, op: Operation, value: SSAValue, loops: Loops) -> SSAValue:
    """A scalar or size from outside of the body."""
    if value in b.numbers:
        return b.full(b.numbers[value], i64, loops.sizes)
    owner = value.owner
    if (
        isinstance(owner, Operation)
        and name_of(owner) == "arith.constant"
        and not isinstance(value.type, TensorType)
    ):
        return _constant(b, owner, loops)
    raise cannot(op, "its body uses a value from outside that is no constant and no size")


def _result(
    b: Builder,
    op: Operation,
    number: int,
    values: dict[SSAValue, SSAValue],
    steps: dict[SSAValue, Operation],
    start: SSAValue,
    loops: Loops,
) -> SSAValue:
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    outs = block.args[len(block.args) - len(op.results) :]
    along = loops.maps[len(loops.maps) - len(op.results) + number]
    b.location = op.location
    left = [loop for loop in range(len(loops.sizes)) if loop not in loops.summed]
    if None in along or sorted(loop for loop in along if loop is not None) != left:
        raise cannot(op, "the map of an output leaves out a loop")
    if outs[number] not in steps:
        yielded = last.operands[number]
        value = values.get(yielded) or _captured(b, op, yielded, loops)
        return b.transpose(value, [left.index(loop) for loop in along if loop is not None])
    step = steps[outs[number]]
    (new,) = [v for v in step.operands if v is not outs[number]]
    value = values.get(new) or _captured(b, op, new, loops)
    reduce, _ = _REDUCTIONS[name_of(step)]
    value = b.add(reduce(value, loops.summed))
    value = b.transpose(value, [left.index(loop) for loop in along if loop is not None])
    return _started(b, op, value, start, step)


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
