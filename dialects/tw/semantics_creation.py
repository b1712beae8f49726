"""What the creation ops compute."""

from __future__ import annotations

from math import pi, prod

from xdsl.dialects.builtin import StringAttr, f32, f64, i64

from ..arrays import Array
from ..index_expr import parse_expr
from ..philox import uniform
from ..semantics import Args, Machine, NoCallback, Results, semantics
from ..types import element_type_of, is_float, sizes_of
from .creation import ConstantOp, FullOp, IotaOp, RngNormalOp, RngSeedOp, RngUniformOp, as_element
from .semantics_elementwise import convert


@semantics(ConstantOp)
def run_constant(op: ConstantOp, args: Args, machine: Machine) -> Results:
    type_, sizes = op.result.type, machine.sizes(sizes_of(op.result))
    values = [as_element(v, type_) for v in op.value.get_values() if isinstance(v, int | float)]
    if len(values) == 1:
        values = values * prod(sizes)
    element = element_type_of(op.result)
    wide = machine.arrays.dtype(f64) if is_float(element) else machine.arrays.dtype(element)
    array = machine.arrays.asarray(values, wide).reshape(sizes)
    return (machine.arrays.store(array, element),)


@semantics(FullOp)
def run_full(op: FullOp, args: Args, machine: Machine) -> Results:
    element, sizes = element_type_of(op.result), machine.sizes(sizes_of(op.result))
    if isinstance(op.value, StringAttr):
        value = parse_expr(op.value.data).evaluate(machine.symbols)
        full = machine.arrays.full(sizes, value, machine.arrays.dtype(i64))
        return (convert(machine, full, i64, element),)
    scalar = as_element(op.value.value.data, op.result.type)
    return (machine.arrays.full(sizes, scalar, machine.arrays.dtype(element)),)


@semantics(IotaOp)
def run_iota(op: IotaOp, args: Args, machine: Machine) -> Results:
    sizes, dim = machine.sizes(sizes_of(op.result)), op.dim.value.data
    start = parse_expr(op.start.data).evaluate(machine.symbols)
    step = parse_expr(op.step.data).evaluate(machine.symbols)
    line = (machine.arrays.arange(sizes[dim]) * step + start).reshape(
        [n if d == dim else 1 for d, n in enumerate(sizes)]
    )
    full = machine.arrays.copy(machine.arrays.broadcast_to(line, sizes))
    return (convert(machine, full, i64, element_type_of(op.result)),)


@semantics(RngSeedOp)
def run_rng_seed(op: RngSeedOp, args: Args, machine: Machine) -> Results:
    if machine.draw_seed is None:
        raise NoCallback(op, name="draw_seed")
    sizes = machine.sizes(sizes_of(op.result))
    drawn = [machine.draw_seed() for _ in range(prod(sizes))]
    return (machine.arrays.asarray(drawn if sizes else drawn[0], machine.arrays.dtype(i64)),)


def _uniform(machine: Machine, seed: Array, sizes: list[int], offset: int) -> Array:
    counters = machine.arrays.arange(prod(sizes)) + offset
    return machine.arrays.cast(uniform(int(seed), counters), machine.arrays.dtype(f32)).reshape(sizes)


@semantics(RngUniformOp)
def run_rng_uniform(op: RngUniformOp, args: Args, machine: Machine) -> Results:
    offset = parse_expr(op.offset.data).evaluate(machine.symbols)
    return (_uniform(machine, args[0], machine.sizes(sizes_of(op.result)), offset),)


@semantics(RngNormalOp)
def run_rng_normal(op: RngNormalOp, args: Args, machine: Machine) -> Results:
    offset, sizes = parse_expr(op.offset.data).evaluate(machine.symbols), machine.sizes(sizes_of(op.result))
    u = _uniform(machine, args[0], sizes, offset)
    v = _uniform(machine, args[0], sizes, offset + prod(sizes))
    return (machine.xp.sqrt(machine.xp.log1p(-u) * -2.0) * machine.xp.cos(v * (2 * pi)),)
