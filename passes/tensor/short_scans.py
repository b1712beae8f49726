"""Scans of few elements, written out: kernels can compute each element wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, MaximumOp, MinimumOp, MulOp
from tilewright.dialects.tw.reduction import (
    CummaxOp,
    CumminOp,
    CumprodOp,
    CumsumOp,
    CumulativeOp,
    LinearScanOp,
)
from tilewright.dialects.tw.view import ConcatOp, SliceOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite

_Combine = type[AddOp] | type[MulOp] | type[MaximumOp] | type[MinimumOp]
_COMBINES: Mapping[type[Operation], _Combine] = {
    CumsumOp: AddOp,
    CumprodOp: MulOp,
    CummaxOp: MaximumOp,
    CumminOp: MinimumOp,
}
SHORT_SCANS = (*_COMBINES, LinearScanOp)


def write_out_scan(most: int, op: Operation, rw: Rewrite) -> SSAValue | None:
    """The concatenation of what there is after each of `most` steps or fewer; halves compute in f32."""
    assert isinstance(op, CumulativeOp | LinearScanOp)
    dim, sizes, element = op.dim.value.data, sizes_of(op.source), element_type_of(op.source)
    count = sizes[dim].constant
    if count is None or not 1 < count <= most:
        return None
    one = [1 if d == dim else n for d, n in enumerate(sizes)]

    def at(source: SSAValue, place: int) -> SSAValue:
        begin = [place if d == dim else 0 for d in range(len(sizes))]
        value = rw.value(SliceOp(source, begin, one))
        return rw.value(CastOp(value, f32)) if is_half(element) else value

    found = [at(op.source, 0)]
    for place in range(1, count):
        new, before = at(op.source, place), found[-1]
        if isinstance(op, LinearScanOp):
            found.append(rw.value(AddOp(rw.value(MulOp(before, at(op.factor, place))), new)))
        else:
            found.append(rw.value(_COMBINES[type(op)](before, new)))
    parts = [rw.value(CastOp(value, element)) for value in found] if is_half(element) else found
    return rw.value(ConcatOp(parts, dim))
