"""Ops on literals, computed by the reference semantics in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import isfinite
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arrays import Array, Arrays
from tilewright.dialects.index_expr import parse_expr
from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.semantics import Machine, semantics_of
from tilewright.dialects.tw.base import Elementwise, element_of, is_pure
from tilewright.dialects.tw.creation import ConstantOp, FullOp, IotaOp, scalar_attr
from tilewright.dialects.tw.indexing import (
    GatherAlongOp,
    GatherOp,
    ScatterAddOp,
    ScatterAlongOp,
    ScatterOp,
    SortOp,
)
from tilewright.dialects.tw.reduction import CumulativeOp, ReduceOp
from tilewright.dialects.tw.view import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)
from tilewright.dialects.types import (
    element_type,
    has_symbolic_size,
    is_float,
    numel_of,
    sizes_of,
    tensor_type,
)

from ..driver import Rewrite
from ..memory.result_memory import memory_of, result_attributes
from ..rewrite import skip
from .splats import splat_of

MAX_ELEMENTS = 256
"""Larger constants stay what they are computed from: they cost memory and compile time."""

VIEWS = (BroadcastOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp)
_EXACT = (
    ConcatOp,
    CumulativeOp,
    GatherOp,
    GatherAlongOp,
    PadOp,
    ReduceOp,
    ScatterOp,
    ScatterAddOp,
    ScatterAlongOp,
    SortOp,
)


@cache
def reference_machine() -> Machine:
    """What ops of literals mean, in NumPy."""
    import numpy

    return Machine(Arrays(numpy))


def no_elements(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """A pure op whose results have no elements computes nothing, and none of its checks can fail."""
    if isinstance(op, FullOp) or not op.results or not is_pure(op):
        return None
    if any(not isinstance(r.type, TensorType) or numel_of(r) != 0 for r in op.results):
        return None
    return [rw.value(FullOp(0, element_of(r), sizes_of(r))) for r in op.results]


def fold_constants(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """An elementwise op or view whose operands are all literals, and what moves or adds integers."""
    owners = [operand.owner for operand in operands_of(op)]
    if not owners or not all(isinstance(owner, FullOp | ConstantOp) for owner in owners):
        return None
    if not (op.has_trait(Elementwise) or isinstance(op, VIEWS) or _is_of_integers(op)):
        return None
    if any(isinstance(owner, FullOp) and isinstance(owner.value, StringAttr) for owner in owners):
        return skip(op, "an operand is an expression of symbolic sizes")
    if all(isinstance(owner, FullOp) for owner in owners) and op.has_trait(Elementwise):
        return _fold_fulls(op, rw)
    if isinstance(op, VIEWS) and _shares_memory(op.results[0]):
        return skip(op, "it is returned, and another result is a view of the same memory")
    if any(map(has_symbolic_size, (*op.results, *op.operands))):
        return skip(op, "a size is symbolic")
    counts = [numel_of(value) for value in (*op.results, *(() if isinstance(op, VIEWS) else op.operands))]
    if any(count is None or count > MAX_ELEMENTS for count in counts):
        return skip(op, f"the constant would have more than {MAX_ELEMENTS} elements")
    return _fold_dense(op, rw)


def _is_of_integers(op: Operation) -> bool:
    """Whether its results are exact in any order: a plan of blocks is sorted, scattered and counted."""
    return isinstance(op, _EXACT) and not any(is_float(element_of(result)) for result in op.results)


def _shares_memory(value: SSAValue) -> bool:
    """Whether `value` or a view of it is a result that may share its memory with another one."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, VIEWS) and _shares_memory(op.results[0]):
            return True
        if isinstance(op, ReturnOp) and isinstance(function := op.parent_op(), FuncOp):
            numbers = [memory_of(attrs) for attrs in result_attributes(function)]
            number = numbers[use.index]
            if number is not None and numbers.count(number) > 1:
                return True
    return False


def _fold_fulls(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """Compute one element, whatever the shape."""
    scalar = op.create(
        operands=[
            FullOp.create(
                result_types=[tensor_type(element_of(v), ())], properties=_owner(v).properties
            ).result
            for v in op.operands
        ],
        result_types=[tensor_type(element_of(op.results[0]), ())],
        properties=op.properties,
    )
    results = _evaluate(scalar)
    if results is None:
        return skip(op, "it would fail at run time, and has to do so there")
    value = scalar_attr(results[0].item(), element_of(op.results[0]))
    return [rw.value(FullOp.create(result_types=[op.results[0].type], properties={"value": value}))]


def _owner(value: SSAValue) -> FullOp:
    assert isinstance(value.owner, FullOp)
    return value.owner


def _evaluate(op: Operation) -> Sequence[Array] | None:
    """The op's results, where its operands are literals; None where it has none."""
    machine = reference_machine()
    args: list[Any] = []
    for operand in op.operands:
        assert isinstance(operand.owner, Operation)
        args.extend(semantics_of(operand.owner)(operand.owner, (), machine))
    try:
        return semantics_of(op)(op, args, machine)
    except (ZeroDivisionError, IndexError):
        return None


def _fold_dense(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    results = _evaluate(op)
    if results is None:
        return skip(op, "it would fail at run time, and has to do so there")
    values: list[list[float]] = [result.reshape(-1).tolist() for result in results]
    if is_float(element_of(op.results[0])) and not all(map(isfinite, values[0])):
        return skip(op, "the constant would hold infinities or NaN, which dense text cannot spell")
    found = zip(op.results, values, strict=True)
    return [rw.value(ConstantOp(dense(result.type, numbers))) for result, numbers in found]


def dense(type_: Attribute, values: Sequence[float]) -> DenseIntOrFPElementsAttr[AnyDenseElement]:
    """`values` in row-major order as the elements of `type_`."""
    if isinstance(element_type(type_), IntegerType):
        integers = cast(TensorType[IntegerType], type_)
        return DenseIntOrFPElementsAttr.from_list(integers, [int(v) for v in values])
    return DenseIntOrFPElementsAttr.from_list(cast(TensorType[AnyFloat], type_), values)


def one_position(op: Operation, rw: Rewrite) -> SSAValue | None:
    """What counts along a dimension of one element is a number."""
    assert isinstance(op, IotaOp)
    sizes = sizes_of(op.result)
    if sizes[op.dim.value.data].constant != 1:
        return None
    start = parse_expr(op.start.data)
    value = start if start.constant is None else start.constant
    return rw.value(FullOp(value, element_of(op.result), sizes))


def splat_constant(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A constant of equal elements is `tw.full`."""
    scalar = splat_of(op.results[0])
    if scalar is None or numel_of(op.results[0]) == 0:
        return None
    value = scalar_attr(scalar, element_of(op.results[0]))
    return rw.value(FullOp.create(result_types=[op.results[0].type], properties={"value": value}))
