"""The condition that torch made an addend: masks of attention that are 0 where a key is seen, else -inf.

    scaled_dot_product_attention(q, k, v, attn_mask=positions[None] <= positions[:, None])

torch adds `where(condition, 0, -inf)` to the scores, and pads it for its own kernels. Kernels of ours select
by the condition: where it is one on positions, blocks of keys that it hides are not visited, and others need
no mask at all. Scores that are hidden count for nothing, then; NaN and infinity among them do not come
through.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.tw.elementwise import LogicalNotOp
from tilewright.dialects.tw.elementwise_binary import CastOp, SelectOp
from tilewright.dialects.tw.view import BroadcastOp, PadOp, ReshapeOp, SliceOp
from tilewright.dialects.types import sizes_of
from tilewright.passes.tensor.splats import splat_of

from .builder import Builder


def seen(b: Builder, mask: SSAValue | None) -> SSAValue | None:
    """`mask`, or the condition (i1, of the same shape) under which it is 0 where it is -inf otherwise."""
    if mask is None:
        return None
    return _condition(b, mask) or mask


def _condition(b: Builder, mask: SSAValue) -> SSAValue | None:
    match mask.owner:
        case SelectOp(condition=condition, on_true=shows, on_false=hides):
            if _is(shows, 0.0) and _is(hides, -math.inf):
                return condition
            if _is(shows, -math.inf) and _is(hides, 0.0):
                return b.emit(LogicalNotOp(condition))
            return None
        case BroadcastOp(source=source, dims=dims):
            found = _condition(b, source)
            return found and b.emit(BroadcastOp(found, sizes_of(mask), dims.get_values()))
        case ReshapeOp(source=source):
            found = _condition(b, source)
            return found and b.reshape(found, sizes_of(mask))
        case CastOp(operand=source):
            return _condition(b, source)
        case SliceOp() as sliced:
            padded = _without_padding(sliced)
            return padded and _condition(b, padded)
        case _:
            return None


def _is(value: SSAValue, number: float) -> bool:
    return splat_of(value) == number


def _without_padding(sliced: SliceOp) -> SSAValue | None:
    """What was padded at its ends, of which `sliced` is all."""
    padded = sliced.source.owner
    if not isinstance(padded, PadOp) or sizes_of(padded.source) != sizes_of(sliced.result):
        return None
    before = (*parse_exprs(padded.low.data), *parse_exprs(sliced.starts.data))
    return padded.source if all(expr.constant == 0 for expr in before) else None
