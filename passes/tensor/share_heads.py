"""The `share-heads` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp, dropout_of
from tilewright.dialects.tw.attention_base import Weights
from tilewright.dialects.tw.base import ints
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..fusion.lower_attention import why_library
from ..rewrite import carry_location, may_rewrite, skip

_PLAIN = (0, 1, 2, 3)


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
    gradients where they are made, which rounds once. Left alone are keys and values that are repeated
    differently, and gradients of single heads that somebody reads.
    """

    name = "share-heads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, AttentionOp | AttentionBackwardOp) and why_library(inner) is None:
                _share(inner)


@dataclass(frozen=True)
class _Repeated:
    """Heads of `source`, `[..., h, ...]`, `group` times each, as dimension 1 of what `perm` makes of it."""

    source: SSAValue
    perm: tuple[int, ...]
    group: Expr

    @property
    def head(self) -> int:
        """Where heads stand in `source`."""
        return self.perm[1]

    @property
    def sizes(self) -> list[Expr]:
        """Of `source` as if it had four dimensions."""
        sizes = list(sizes_of(self.source))
        if len(sizes) == 5:
            del sizes[self.head + 1]
        return sizes


def _share(op: AttentionOp | AttentionBackwardOp) -> None:
    key, value = _repeated(op.key), _repeated(op.value)
    if key is None or value is None:
        if key is not value:
            skip(op, "heads are not shared: only its keys or only its values are repeated")
        return
    if key.group != value.group:
        skip(op, f"heads are not shared: keys are repeated {key.group} times, values {value.group} times")
        return
    sums: list[list[SumOp]] = []
    if isinstance(op, AttentionBackwardOp):
        for grad, of in ((op.key_grad, key), (op.value_grad, value)):
            found = _sums(grad, of)
            if found is None:
                skip(op, "heads are not shared: gradients of single heads are read")
                return
            sums.append(found)
    if may_rewrite(op, "shares heads of keys"):
        _rewrite(op, (key, value), sums)


def _rewrite(
    op: AttentionOp | AttentionBackwardOp, repeated: Sequence[_Repeated], sums: Sequence[Sequence[SumOp]]
) -> None:
    """Replace `op`, and of a backward pass the sums of gradients, those of keys first."""
    block = op.parent
    assert block is not None

    def put(new: Operation, before: Operation = op, like: Operation = op) -> SSAValue:
        carry_location(like, (new,))
        block.insert_op_before(new, before)
        return new.results[0]

    def in_order(of: _Repeated) -> SSAValue:
        sizes = of.sizes
        flat = of.source if len(sizes_of(of.source)) == 4 else put(ReshapeOp(of.source, sizes))
        return flat if of.perm == _PLAIN else put(TransposeOp(flat, of.perm))

    keys, values = map(in_order, repeated)
    how: Weights = {
        "scale": op.scale.value.data,
        "is_causal": op.is_causal is not None,
        "dropout_p": dropout_of(op),
        "seed": op.seed,
    }
    if isinstance(op, AttentionOp):
        made = AttentionOp(op.query, keys, values, op.mask, element=element_type_of(op.result), **how)
        put(made)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
    else:
        made = AttentionBackwardOp((op.query, keys, values, op.grad, op.result, op.logsumexp), op.mask, **how)
        put(made)
        op.query_grad.replace_all_uses_with(made.query_grad)
        for grad, of, found in zip(made.results[1:], repeated, sums, strict=True):
            for old in found:
                total = grad
                if of.perm != _PLAIN:
                    back = [of.perm.index(d) for d in range(4)]
                    total = put(TransposeOp(grad, back), old, old)
                old.result.replace_all_uses_with(total)
                old.detach()
                old.erase()
    for result in op.results:
        _erase_readers(result)
    op.detach()
    op.erase()


def _erase_readers(value: SSAValue) -> None:
    """Views whose sums are gone."""
    for op in {use.operation: None for use in value.uses}:
        _erase_readers(op.results[0])
        op.detach()
        op.erase()


def _repeated(value: SSAValue) -> _Repeated | None:
    """What `value` repeats, if that is each of its heads."""
    perm = _PLAIN
    if isinstance(op := value.owner, TransposeOp):
        value, perm = op.source, tuple(ints(op.perm))
    joined = value.owner
    if not isinstance(joined, ReshapeOp) or not isinstance(spread := joined.source.owner, BroadcastOp):
        return None
    head, sizes, source = perm[1], sizes_of(spread.result), sizes_of(spread.source)
    if not _is_joined(sizes, sizes_of(joined.result), head):
        return None
    dims = tuple(ints(spread.dims))
    others = [d for d in range(5) if d != head + 1]
    if any(d not in dims or source[dims.index(d)] != sizes[d] for d in others):
        return None
    if head + 1 in dims and source[head + 1].constant != 1:
        return None
    return _Repeated(spread.source, perm, sizes[head + 1])


def _is_joined(apart: Sequence[Expr], joined: Sequence[Expr], head: int) -> bool:
    """Whether a reshape between these makes one of dimensions `head` and the one behind it."""
    if len(apart) != 5:
        return False
    return [*apart[:head], apart[head] * apart[head + 1], *apart[head + 2 :]] == list(joined)


def _sums(grad: SSAValue, of: _Repeated) -> list[SumOp] | None:
    """The sums over equal heads, if nothing else reads their gradients."""
    found: list[SumOp] = []
    values = [grad]
    if of.perm != _PLAIN:
        ops = [use.operation for use in grad.uses]
        back = tuple(of.perm.index(d) for d in range(4))
        if not all(isinstance(op, TransposeOp) and tuple(ints(op.perm)) == back for op in ops):
            return None
        values = [op.results[0] for op in dict.fromkeys(ops)]
    for value in values:
        for use in value.uses:
            op = use.operation
            if not isinstance(op, ReshapeOp) or not _is_joined(sizes_of(op.result), sizes_of(value), of.head):
                return None
            for sum_use in op.result.uses:
                total = sum_use.operation
                if not isinstance(total, SumOp) or tuple(ints(total.axes)) != (of.head + 1,):
                    return None
                found.append(total)
    return found
