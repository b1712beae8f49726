"""tw op -> `tk.kernel`: a function per op family; views and library calls have none."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Mapping

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import StringAttr, f32, i1, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import (
    ONE,
    Expr,
    as_expr,
    dim,
    gathered,
    linearize,
    parse_expr,
    parse_exprs,
    product,
    row_major_strides,
)
from tilewright.dialects.tk.compute import LINEAR, LOG_ADD_EXP, ArgReduceOp, RandomOp, ReduceOp, ScanOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tw import creation, indexing, packed_convolution, packing, reduction, view
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.types import compute_type, element_type_of, scalar_type, sizes_of

from ..kernels.kernel_builder import KernelBuilder
from . import scalar_rules
from .foreign import foreign_lowering
from .lower_convolution import lower_pack_filter, lower_packed_convolution
from .lower_sort import lower_sort

Lowering = Callable[[Operation], KernelOp]


def lowering_of(op: Operation) -> Lowering | None:
    """How `op` becomes a kernel, None where it does not."""
    if (own := LOWERINGS.get(type(op))) is not None:
        return None if isinstance(op, creation.ConstantOp) and not op.repeats else own
    if op.has_trait(Elementwise) and scalar_rules.has_rule(op):
        return lower_elementwise
    return foreign_lowering(op.name)


def _builder(op: Operation, sizes_from: SSAValue | None = None) -> KernelBuilder:
    """A kernel with the operands and results of `op`, over the shape of a value (the result's)."""
    shape = sizes_of(op.results[0] if sizes_from is None else sizes_from)
    decides = type(op) in scalar_rules.STEPS
    return KernelBuilder(op.location, shape, op.operands, op.result_types, decides=decides)


def lower_elementwise(op: Operation) -> KernelOp:
    b = _builder(op)
    args = [b.load(i, b.axes) for i in range(len(op.operands))]
    b.store(scalar_rules.lower(b, op, args), b.axes)
    return b.kernel


# Creation


def _constant(op: Operation) -> KernelOp:
    assert isinstance(op, creation.ConstantOp)
    value = op.value.get_values()[0]
    assert not isinstance(value, tuple), "tw has no complex element type"
    return _fill(op, value)


def _full(op: Operation) -> KernelOp:
    assert isinstance(op, creation.FullOp)
    if not isinstance(op.value, StringAttr):
        return _fill(op, op.value.value.data)
    b = _builder(op)
    wide = compute_type(element_type_of(op.result))
    b.store(scalar_rules.convert(b, b.index(parse_expr(op.value.data)), wide), b.axes)
    return b.kernel


def _fill(op: Operation, value: float | int) -> KernelOp:
    b = _builder(op)
    b.store(b.constant(value, compute_type(element_type_of(op.results[0]))), b.axes)
    return b.kernel


def _iota(op: Operation) -> KernelOp:
    assert isinstance(op, creation.IotaOp)
    b = _builder(op)
    position = parse_expr(op.start.data) + b.axes[op.dim.value.data] * parse_expr(op.step.data)
    wide = compute_type(element_type_of(op.result))
    b.store(scalar_rules.convert(b, b.index(position), wide), b.axes)
    return b.kernel


def _uniform(op: Operation) -> KernelOp:
    assert isinstance(op, creation.RngUniformOp)
    b = _builder(op)
    counter = parse_expr(op.offset.data) + linearize(b.axes, row_major_strides(b.kernel.space))
    b.store(b.add(RandomOp.make(b.load(0, ()), b.index(counter), f32)).results[0], b.axes)
    return b.kernel


def _normal(op: Operation) -> KernelOp:
    """Box and Muller: sqrt(-2 log1p(-u)) cos(2 pi v), u and v from consecutive counter ranges."""
    assert isinstance(op, creation.RngNormalOp)
    b = _builder(op)
    space = b.kernel.space
    counter = parse_expr(op.offset.data) + linearize(b.axes, row_major_strides(space))
    seed = b.load(0, ())
    u = b.add(RandomOp.make(seed, b.index(counter), f32)).results[0]
    v = b.add(RandomOp.make(seed, b.index(counter + product(space)), f32)).results[0]
    log = b.op(math.Log1pOp, b.op(arith.NegfOp, u))
    radius = b.op(math.SqrtOp, b.op(arith.MulfOp, b.constant(-2.0, f32), log))
    angle = b.op(math.CosOp, b.op(arith.MulfOp, b.constant(2 * pymath.pi, f32), v))
    b.store(b.op(arith.MulfOp, radius, angle), b.axes)
    return b.kernel


# Reductions

_KINDS: Mapping[type[Operation], str] = {
    reduction.SumOp: "add",
    reduction.ProdOp: "mul",
    reduction.MaxOp: "max",
    reduction.MinOp: "min",
    reduction.AnyOp: "or",
    reduction.AllOp: "and",
}
_I1_KINDS = {"max": "or", "min": "and"}
_SCANS: Mapping[type[Operation], str] = {
    reduction.CumsumOp: "add",
    reduction.CumprodOp: "mul",
    reduction.CummaxOp: "max",
    reduction.CumminOp: "min",
    reduction.LogcumsumexpOp: LOG_ADD_EXP,
}


def _reduce(op: Operation) -> KernelOp:
    assert isinstance(op, reduction.ReduceOp)
    b = _builder(op, op.source)
    axes, kind = _longer(op), _KINDS[type(op)]
    value = b.load(0, _places(b, op))
    if scalar_type(element_type_of(op.source)) == value.type and value.type == i1:
        kind = _I1_KINDS.get(kind, kind)
    if axes:
        value = b.add(ReduceOp.make(kind, value, axes)).results[0]
    b.store(value, [d for i, d in enumerate(b.axes) if i not in ints(op.axes)])
    return b.kernel


def _longer(op: reduction.ReduceOp | reduction.MomentsOp) -> tuple[int, ...]:
    """The axes to reduce without those of size 1, unless these are all: so it joins others that have none."""
    axes, sizes = ints(op.axes), sizes_of(op.source)
    return tuple(a for a in axes if sizes[a] != ONE) or axes


def _places(b: KernelBuilder, op: reduction.ReduceOp | reduction.MomentsOp) -> list[Expr]:
    """Where the source is read: along reduced axes of size 1 there is one place."""
    still = set(ints(op.axes)).difference(_longer(op))
    return [as_expr(0) if a in still else d for a, d in enumerate(b.axes)]


def _moments(op: Operation) -> KernelOp:
    assert isinstance(op, reduction.MomentsOp)
    b = _builder(op, op.source)
    axes = _longer(op)
    x = b.load(0, _places(b, op))
    group = (x, b.constant(0.0, x.type), b.constant(1.0, x.type))
    mean, squares, _ = b.add(MomentsOp.make(group, axes)).results
    number = product(b.kernel.space[a] for a in axes)
    if not number.constant:  # there may be no numbers, which have no mean
        some = b.compare_int("ne", b.index(number), b.constant(0, i64))
        mean = b.select(some, mean, b.constant(pymath.nan, x.type))
    kept = [d for i, d in enumerate(b.axes) if i not in ints(op.axes)]
    b.store(mean, kept)
    b.store(squares, kept, 1)
    return b.kernel


def _argreduce(op: Operation) -> KernelOp:
    assert isinstance(op, reduction.ArgReduceOp)
    b = _builder(op, op.source)
    axis = op.dim.value.data
    kind = "max" if isinstance(op, reduction.ArgmaxOp) else "min"
    value = b.load(0, b.axes)
    found = b.add(ArgReduceOp.make(kind, value, b.index(dim(axis)), (axis,)))
    b.store(found.results[1], [d for i, d in enumerate(b.axes) if i != axis])
    return b.kernel


def _cumulative(op: Operation) -> KernelOp:
    assert isinstance(op, reduction.CumulativeOp)
    b = _builder(op)
    running = b.add(ScanOp.make(_SCANS[type(op)], b.load(0, b.axes), op.dim.value.data)).results[0]
    b.store(running, b.axes)
    return b.kernel


def _linear_scan(op: Operation) -> KernelOp:
    """The first factor is 0: what there was before is nothing, whatever is read there."""
    assert isinstance(op, reduction.LinearScanOp)
    b = _builder(op)
    along = op.dim.value.data
    value, factor = b.load(0, b.axes), b.load(1, b.axes)
    first = b.compare_int("eq", b.index(dim(along)), b.constant(0, i64))
    factor = b.select(first, b.constant(0.0, factor.type), factor)
    b.store(b.add(ScanOp.make(LINEAR, value, along, factor)).results[0], b.axes)
    return b.kernel


# Padding and gathers


def _pad(op: Operation) -> KernelOp:
    assert isinstance(op, view.PadOp)
    b = _builder(op)
    low, high = parse_exprs(op.low.data), parse_exprs(op.high.data)
    positions = [d - n for d, n in zip(b.axes, low, strict=True)]
    inside = [
        b.within(position, size)
        for position, size, before, after in zip(positions, sizes_of(op.source), low, high, strict=True)
        if before or after
    ]
    mask = b.all_true(inside)
    other = b.constant(op.value.value.data, scalar_type(element_type_of(op.source))) if mask else None
    b.store(b.load(0, positions, mask=mask, other=other), b.axes)
    return b.kernel


def _gather(op: Operation) -> KernelOp:
    assert isinstance(op, indexing.GatherOp)
    b = _builder(op)
    dims, at = ints(op.dims), op.at.value.data
    index_rank = len(sizes_of(op.indices[0]))
    index_axes = b.axes[at : at + index_rank]
    kept_axes = iter((*b.axes[:at], *b.axes[at + index_rank :]))
    sizes = sizes_of(op.source)
    wraps = op.strict is None
    found = [b.checked_index(b.load(1 + j, index_axes), sizes[d], wraps=wraps) for j, d in enumerate(dims)]
    subscripts = [gathered(dims.index(d)) if d in dims else next(kept_axes) for d in range(len(sizes))]
    return _finish_gather(b, op, subscripts, found)


def _gather_along(op: Operation) -> KernelOp:
    assert isinstance(op, indexing.GatherAlongOp)
    b = _builder(op)
    axis, sizes = op.dim.value.data, sizes_of(op.source)
    found = [b.checked_index(b.load(1, b.axes), sizes[axis], wraps=False)]
    subscripts = [gathered(0) if i == axis else d for i, d in enumerate(b.axes)]
    return _finish_gather(b, op, subscripts, found)


def _finish_gather(
    b: KernelBuilder, op: Operation, subscripts: list[Expr], found: list[tuple[SSAValue, SSAValue]]
) -> KernelOp:
    dynamic = [index for index, _ in found]
    if product(sizes_of(op.operands[0])).constant != 0:
        value = b.load(0, subscripts, dynamic)
    else:  # nothing to read at all, not even element 0
        other = b.constant(0, scalar_type(element_type_of(op.operands[0])))
        value = b.load(0, subscripts, dynamic, b.all_true([ok for _, ok in found]), other)
    b.store(value, b.axes)
    return b.kernel


# Packed matrices


def _pack(op: Operation) -> KernelOp:
    assert isinstance(op, packing.PackOp)
    b = _builder(op)
    panel, step, column, *group = b.axes
    row = step * op.group.value.data + group[0] if op.group is not None else step
    b.store(b.load(0, (row, panel * op.width.value.data + column)), b.axes)
    return b.kernel


def _packed_matmul(op: Operation) -> KernelOp:
    """Axes: row, panel, column in the panel, reduced (step and place in the group)."""
    assert isinstance(op, packing.PackedMatmulOp)
    panels, steps, width, *group = sizes_of(op.packed)
    space = (sizes_of(op.lhs)[0], panels, width, steps, *group)
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    row, panel, column, *reduced = b.axes
    place = reduced[0] * op.group + reduced[1] if group else reduced[0]
    packed = b.load(1, (panel, reduced[0], column, *reduced[1:]))
    term = b.op(arith.MulfOp, b.load(0, (row, place)), packed)
    total = b.add(ReduceOp.make("add", term, range(3, len(space)))).results[0]
    at = panel * width + column
    if op.bias is not None:
        total = b.op(arith.AddfOp, total, b.load(2, (at,)))
    b.store(total, (row, at))
    return b.kernel


LOWERINGS: Mapping[type[Operation], Lowering] = {
    creation.ConstantOp: _constant,
    creation.FullOp: _full,
    creation.IotaOp: _iota,
    creation.RngUniformOp: _uniform,
    creation.RngNormalOp: _normal,
    **dict.fromkeys(_KINDS, _reduce),
    reduction.MomentsOp: _moments,
    reduction.ArgmaxOp: _argreduce,
    reduction.ArgminOp: _argreduce,
    **dict.fromkeys(_SCANS, _cumulative),
    reduction.LinearScanOp: _linear_scan,
    view.PadOp: _pad,
    indexing.GatherOp: _gather,
    indexing.GatherAlongOp: _gather_along,
    indexing.SortOp: lower_sort,
    packing.PackOp: _pack,
    packing.PackedMatmulOp: _packed_matmul,
    packed_convolution.PackFilterOp: lower_pack_filter,
    packed_convolution.PackedConvolutionOp: lower_packed_convolution,
}
