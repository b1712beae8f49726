"""The `share-heads` pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, as_expr, product
from tilewright.dialects.ir_access import ops_within
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp, weights_of
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..lowering.lower_attention import why_library
from ..rewrite import carry_location, may_rewrite, skip


@dataclass(frozen=True)
class ShareHeadsPass(ModulePass):
    """Let heads of queries share heads of keys and values that were repeated for them.

    Before:
        %e = tw.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x9x64xf16> -> tensor<1x2x4x9x64xf16>
        %ks = tw.reshape %e : tensor<1x2x4x9x64xf16> -> tensor<1x8x9x64xf16>
        ...     // %vs of %v
        %dq, %dk, %dv = tw.attention_backward %q, %ks, %vs, %g, %o, %l ...
        %h = tw.reshape %dk : tensor<1x8x9x64xf16> -> tensor<1x2x4x9x64xf16>
        %s = tw.sum %h over [2] : tensor<1x2x4x9x64xf16> -> tensor<1x2x9x64xf16>
    After:
        %dq, %s, %t = tw.attention_backward %q, %k, %v, %g, %o, %l ...

    Programs spell it so that know no shared heads (`repeat_kv`, `repeat_interleave`), also with rows between
    batch and heads. Then `split-keys` can put heads that share keys into one tile, and `split-attention` sums
    gradients where they are made, which rounds once. With `calls`, for CPUs, also what a library computes,
    which needs no copies then; but gradients of halves, of which it rounds each sum. Left alone are keys and
    values that are repeated differently, and gradients of single heads that somebody reads.
    """

    name = "share-heads"

    calls: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in ops_within(op):
            if isinstance(inner, AttentionOp | AttentionBackwardOp):
                self._share(inner)

    def _share(self, op: AttentionOp | AttentionBackwardOp) -> None:
        if self.calls and isinstance(op, AttentionBackwardOp) and is_half(element_type_of(op.query)):
            skip(op, "heads are not shared: a library would round each sum of their gradients")
        elif self.calls or why_library(op) is None:
            _share(op)


Put: TypeAlias = Callable[[Operation], SSAValue]
View: TypeAlias = TransposeOp | ReshapeOp


@dataclass(frozen=True)
class _Repeated:
    """`views` of `spread`, the first one first, in which each head stands `group` times in a row."""

    spread: BroadcastOp
    axis: int
    """Of `spread`, along which it repeats."""
    views: tuple[View, ...]
    group: Expr

    def once(self, put: Put) -> SSAValue:
        """The same with each head once."""
        source, dims = self.spread.source, ints(self.spread.dims)
        sizes = list(sizes_of(self.spread.result))
        sizes[self.axis] = as_expr(1)
        if [n for n in sizes if n.constant != 1] == [n for n in sizes_of(source) if n.constant != 1]:
            value = _reshaped(source, sizes, put)
        else:
            value = put(BroadcastOp(source, sizes, dims))
        return _through(value, self.views, self.axis, self.group, put)


@dataclass(frozen=True)
class _Sum:
    """The sum over equal heads that `op` computes of `views` of their gradients."""

    op: SumOp
    views: tuple[View, ...]


def _share(op: AttentionOp | AttentionBackwardOp) -> None:
    repeated = _repeated(op.key), _repeated(op.value)
    key, value = repeated
    if key is None or value is None:
        if key is not value:
            skip(op, "heads are not shared: only its keys or only its values are repeated")
        return
    if key.group != value.group:
        skip(op, f"heads are not shared: keys are repeated {key.group} times, values {value.group} times")
        return
    sums: list[list[_Sum]] = []
    for grad in op.results[1:] if isinstance(op, AttentionBackwardOp) else ():
        found = _sums(grad, 1, key.group, ())
        if found is None:
            skip(op, "heads are not shared: gradients of single heads are read")
            return
        sums.append(found)
    if may_rewrite(op, "shares heads of keys"):
        _rewrite(op, (key, value), sums)


def _rewrite(
    op: AttentionOp | AttentionBackwardOp, repeated: Sequence[_Repeated], sums: Sequence[Sequence[_Sum]]
) -> None:
    """Replace `op`, and of a backward pass the sums of gradients, those of keys first."""
    put = _puts(op)
    keys, values = (each.once(put) for each in repeated)
    replaced: list[tuple[SSAValue, SSAValue]] = []
    how = weights_of(op)
    if isinstance(op, AttentionOp):
        made = AttentionOp(op.query, keys, values, op.mask, element=element_type_of(op.result), **how)
        put(made)
        replaced += zip(op.results, made.results, strict=True)
    else:
        made = AttentionBackwardOp((op.query, keys, values, op.grad, op.result, op.logsumexp), op.mask, **how)
        put(made)
        replaced.append((op.query_grad, made.query_grad))
        for grad, of, found in zip(made.results[1:], repeated, sums, strict=True):
            for each in found:
                at = _puts(each.op)
                total = _through(grad, each.views, 1, of.group, at)
                replaced.append((each.op.result, _reshaped(total, sizes_of(each.op.result), at)))
    for old, new in replaced:
        old.replace_all_uses_with(new)
    for result in op.results:
        _erase_readers(result)
    Rewriter.erase_op(op)


def _puts(before: Operation) -> Put:
    """What puts ops in front of one for which they stand."""
    block = before.parent
    assert block is not None

    def put(new: Operation) -> SSAValue:
        carry_location(before, (new,))
        block.insert_op_before(new, before)
        return new.results[0]

    return put


def _erase_readers(value: SSAValue) -> None:
    """Views whose sums are replaced."""
    for op in {use.operation: None for use in value.uses}:
        _erase_readers(op.results[0])
        Rewriter.erase_op(op)


# Which heads are equal: `axis` has each head `group` times in a row


def _repeated(value: SSAValue) -> _Repeated | None:
    """What `value` repeats, if that is each of its heads."""
    axis, views = 1, list[View]()
    while isinstance(op := value.owner, TransposeOp | ReshapeOp):
        views.insert(0, op)
        before = ints(op.perm)[axis] if isinstance(op, TransposeOp) else _last_of(op.result, axis, op.source)
        if before is None:
            return None
        axis, value = before, op.source
    if not isinstance(op, BroadcastOp):
        return None
    group, dims = sizes_of(op.result)[axis], ints(op.dims)
    repeats = axis not in dims or sizes_of(op.source)[dims.index(axis)].constant == 1
    found = _Repeated(op, axis, tuple(views), group)
    return found if repeats and group.constant != 1 and _divided(found) else None


def _divided(found: _Repeated) -> bool:
    """Whether each view keeps a group together."""
    axis = found.axis
    for op in found.views:
        moved = _moved(op, axis)
        if moved is None or sizes_of(op.result)[moved].exact_div(found.group) is None:
            return False
        axis = moved
    return True


def _sums(grad: SSAValue, axis: int, group: Expr, views: tuple[View, ...]) -> list[_Sum] | None:
    """The sums over equal heads, if nothing else reads their gradients."""
    found: list[_Sum] = []
    for op in {use.operation: None for use in grad.uses}:
        if isinstance(op, TransposeOp | ReshapeOp):
            moved = _moved(op, axis)
            whole = moved is not None and sizes_of(op.result)[moved].exact_div(group) is not None
            more = _sums(op.result, moved, group, (*views, op)) if moved is not None and whole else None
            if more is None:
                return None
            found += more
        elif isinstance(op, SumOp) and sizes_of(grad)[axis] == group and _axes(op) == [axis]:
            found.append(_Sum(op, views))
        else:
            return None
    return found


def _axes(op: SumOp) -> list[int]:
    """Those that have more than one element."""
    return [axis for axis in ints(op.axes) if sizes_of(op.source)[axis].constant != 1]


def _moved(op: View, axis: int) -> int | None:
    """Where `axis` is behind a view; of a reshape, the axis of which its elements are the last digits."""
    return ints(op.perm).index(axis) if isinstance(op, TransposeOp) else _last_of(op.source, axis, op.result)


def _last_of(value: SSAValue, axis: int, other: SSAValue) -> int | None:
    """The axis of `other`, a reshape of `value`, whose elements are as far apart as those of `axis`."""
    far = product(sizes_of(value)[axis + 1 :])
    sizes = sizes_of(other)
    found = [a for a, n in enumerate(sizes) if n.constant != 1 and product(sizes[a + 1 :]) == far]
    return found[0] if found else None


def _through(value: SSAValue, views: Sequence[View], axis: int, group: Expr, put: Put) -> SSAValue:
    """The views of `value`, which has each head once."""
    for op in views:
        moved = _moved(op, axis)
        assert moved is not None
        axis = moved
        if isinstance(op, TransposeOp):
            value = put(TransposeOp(value, ints(op.perm)))
            continue
        sizes = list(sizes_of(op.result))
        once = sizes[axis].exact_div(group)
        assert once is not None
        sizes[axis] = once
        value = _reshaped(value, sizes, put)
    return value


def _reshaped(value: SSAValue, sizes: Sequence[Expr], put: Put) -> SSAValue:
    """Whatever is a reshape of a reshape needs no more than one."""
    if isinstance(op := value.owner, ReshapeOp):
        value = op.source
    return value if list(sizes) == list(sizes_of(value)) else put(ReshapeOp(value, sizes))
