"""The `split-keys` pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, ZERO, Expr, as_expr
from tilewright.dialects.tw.attention import AttentionOp, wide_element
from tilewright.dialects.tw.creation import FullOp, Scalar
from tilewright.dialects.tw.elementwise import ExpOp, LogOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, CompareOp, DivOp, MulOp, SelectOp, SubOp
from tilewright.dialects.tw.reduction import MaxOp, SumOp
from tilewright.dialects.tw.view import BroadcastOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..lowering.few_queries import Parts, parts_of
from ..lowering.lower_attention import why_library
from ..rewrite import skip


@dataclass(frozen=True)
class SplitKeysPass(ModulePass):
    """Compute attention of few queries in parts of its keys, as when text is generated.

    Before:
        %r, %l = tw.attention %q, %k, %v scale 0.125
          : (tensor<1x8x1x64xf16>, tensor<1x2x1024x64xf16>, ...) -> (tensor<1x8x1x64xf16>, tensor<1x8x1xf32>)
    After:
        %rows = tw.reshape %q : tensor<1x8x1x64xf16> -> tensor<1x2x4x64xf16>
        %each = tw.broadcast %rows dims [0, 1, 3, 4] : ... -> tensor<1x2x8x4x64xf16>
        %qs = tw.reshape %each : ... -> tensor<1x16x4x64xf16>
        %ks = tw.reshape %k : tensor<1x2x1024x64xf16> -> tensor<1x16x128x64xf16>
        %vs = tw.reshape %v : ...
        %o, %s = tw.attention %qs, %ks, %vs scale 0.125
          : (...) -> (tensor<1x16x4x64xf32>, tensor<1x16x4xf32>)
        ...     // the mean of the 8 results of each row, weighted by the exponentials of %s

    Parts are more heads, of 128 keys at least (512 for many queries), until there are enough for a GPU
    (Dao et al., Flash-Decoding, 2023). Queries of heads that share keys are rows of one tile, which reads
    these keys once; a row that is alone gets one of zeros beside it, and two parts where keys are made of
    less (bytes and scales), which no library reads. Keys of a symbolic number, or of one
    that equal parts of whole sixteens do not make, get others beside them, which a mask hides. Left alone is
    what asks where a key stands, as causal masks and dropout do, and what has a symbolic number of heads or
    rows.
    """

    name = "split-keys"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _split(op: Operation, rw: Rewrite) -> list[SSAValue] | None:
    assert isinstance(op, AttentionOp)
    parts = why_library(op) or parts_of(op)
    if isinstance(parts, str):
        skip(op, f"not split: {parts}")
        return None
    if parts.is_plain:
        return None
    heads = _Heads(op, rw, parts)
    element = wide_element(element_type_of(op.query)) if parts.count > 1 else element_type_of(op.query)
    query, key, value = heads.queries(), heads.keys(op.key), heads.keys(op.value)
    scale = op.scale.value.data
    made = rw.insert(AttentionOp(query, key, value, heads.mask(), element=element, scale=scale))
    found = heads.given_rows(made.result), heads.given_rows(made.logsumexp)
    if parts.count > 1:
        found = heads.joined(*found)
    return [heads.separated(value, old) for value, old in zip(found, op.results, strict=True)]


class _Heads:
    """An attention whose queries of `group` heads are rows of one, and whose keys are in `count` parts.

    Of `[batch, head, row]`, heads of queries become `[shared, group]` and `group` goes to the rows; parts go
    to the heads: `[batch, (shared, part), (group, row)]`.
    """

    def __init__(self, op: AttentionOp, rw: Rewrite, parts: Parts) -> None:
        self.op, self.rw, self.length = op, rw, parts.length
        self.group, self.count = as_expr(parts.group), as_expr(parts.count)
        self.batch, heads, self.queries_of_head, self.depth = sizes_of(op.query)
        self.shared, self.rows = heads // parts.group, self.queries_of_head * parts.group
        self.alone = self.rows == ONE

    def queries(self) -> SSAValue:
        rows = self._reshaped(self.op.query, self.batch, self.shared, self.rows, self.depth)
        if self.alone:
            rows = self._padded(rows, 2, ONE, 0.0)
        return self._of_parts(rows)

    def keys(self, value: SSAValue) -> SSAValue:
        """Of keys or values, again for each head of queries that goes by itself."""
        batch, heads, keys, width = sizes_of(value)
        if heads != self.shared:
            value, heads = self._between(value, 2, self.shared // heads), self.shared
            value = self._reshaped(value, batch, heads, keys, width)
        if self.count == ONE:
            return value
        value = self._padded(value, 2, self._missing(keys), 0.0)
        return self._reshaped(value, batch, heads * self.count, self.length, width)

    def mask(self) -> SSAValue | None:
        """With a size of 1 where it had one, if that says the same."""
        mask = self._given_mask()
        if mask is None:
            return None
        batch, heads, rows, keys = sizes_of(mask)
        if self.group != ONE and (heads, rows) != (ONE, ONE):
            each = heads // self.group if heads != ONE else ONE
            whole = self._repeated(mask, batch, heads, self.queries_of_head, keys)
            if heads == ONE:
                whole = self._between(whole, 2, self.group)
            mask, heads, rows = self._reshaped(whole, batch, each, self.rows, keys), each, self.rows
        if keys == ONE:
            return mask if heads == ONE else self._of_parts(mask)
        parts = self._reshaped(mask, batch, heads, rows, self.count, self.length)
        parts = self.rw.value(TransposeOp(parts, (0, 1, 3, 2, 4)))
        parts = self._repeated(parts, batch, self.shared, self.count, rows, self.length)
        return self._reshaped(parts, batch, self.shared * self.count, rows, self.length)

    def _given_mask(self) -> SSAValue | None:
        """That of the op with four dimensions, which hides missing keys as well."""
        mask, keys = self.op.mask, sizes_of(self.op.key)[2]
        missing = self._missing(keys)
        if mask is None:
            if missing == ZERO:
                return None
            mask = self.rw.value(FullOp(1, i1, (ONE, ONE, ONE, keys)))
        sizes = sizes_of(mask)
        sizes = (*[ONE] * (4 - len(sizes)), *sizes)
        mask = self._reshaped(mask, *sizes)
        if missing == ZERO:
            return mask
        mask = self._repeated(mask, *sizes[:3], keys)
        return self._padded(mask, 3, missing, 0 if element_type_of(mask) == i1 else -inf)

    def given_rows(self, value: SSAValue) -> SSAValue:
        """A result without the row that was put beside one that is alone."""
        if not self.alone:
            return value
        sizes = [ONE if d == 2 else size for d, size in enumerate(sizes_of(value))]
        return self.rw.value(SliceOp(value, [0] * len(sizes), sizes))

    def joined(self, result: SSAValue, logsumexp: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The results of all keys, from those of the parts.

        Each column computes the weights of the parts, so that all of it is one kernel.
        """
        *outer, rows, columns = sizes_of(result)
        sizes = (outer[0], self.shared, self.count, rows)
        parts, sums = self._reshaped(result, *sizes, columns), self._reshaped(logsumexp, *sizes)
        weights, total, _ = self._weighted(self._between(sums, 4, columns))
        found = self.rw.value(SumOp(self._op(MulOp, parts, weights), (2,)))
        _, of_row, top = self._weighted(sums)
        found = self._op(DivOp, found, self._where(total, 0.0, 1.0, total))
        return found, self._op(AddOp, self._op(LogOp, of_row), top)

    def _weighted(self, sums: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Exponentials of the log-sums of the parts below the largest, their sum, which is 0 where no part
        sees a key, and the largest."""
        top = self.rw.value(MaxOp(sums, (2,)))
        top = self._where(top, -inf, 0.0, top)
        weights = self._op(ExpOp, self._op(SubOp, sums, self._between(top, 2, self.count)))
        return weights, self.rw.value(SumOp(weights, (2,))), top

    def separated(self, value: SSAValue, old: SSAValue) -> SSAValue:
        """A result as heads have it that share no row."""
        value = self._reshaped(value, *sizes_of(old))
        element = element_type_of(old)
        return value if element_type_of(value) == element else self.rw.value(CastOp(value, element))

    def _of_parts(self, value: SSAValue) -> SSAValue:
        """`[batch, shared, ...]` again for each part, as `[batch, (shared, part), ...]`."""
        batch, shared, *rest = sizes_of(value)
        return self._reshaped(self._between(value, 2, self.count), batch, shared * self.count, *rest)

    def _between(self, value: SSAValue, dim: int, size: Expr) -> SSAValue:
        """The same again along a new dimension `dim`."""
        sizes = list(sizes_of(value))
        dims = [d for d in range(len(sizes) + 1) if d != dim]
        return self.rw.value(BroadcastOp(value, [*sizes[:dim], size, *sizes[dim:]], dims))

    def _missing(self, keys: Expr) -> Expr:
        """Keys that the parts have and nobody gave."""
        return self.length * self.count - keys

    def _padded(self, value: SSAValue, dim: int, more: Expr, fill: Scalar) -> SSAValue:
        if more == ZERO:
            return value
        none = [ZERO] * len(sizes_of(value))
        return self.rw.value(PadOp(value, none, [*none[:dim], more, *none[dim + 1 :]], fill))

    def _repeated(self, value: SSAValue, *sizes: Expr) -> SSAValue:
        return value if sizes_of(value) == sizes else self.rw.value(BroadcastOp(value, sizes))

    def _reshaped(self, value: SSAValue, *sizes: Expr) -> SSAValue:
        return value if sizes_of(value) == sizes else self.rw.value(ReshapeOp(value, sizes))

    def _where(self, value: SSAValue, equal: float, then: float, other: SSAValue) -> SSAValue:
        """`then` where `value` is `equal`."""
        sizes, element = sizes_of(value), element_type_of(value)
        wanted, instead = (self.rw.value(FullOp(number, element, sizes)) for number in (equal, then))
        return self._op(SelectOp, self._op(CompareOp, value, wanted, "eq"), instead, other)

    def _op(self, kind: Callable[..., Operation], *operands: SSAValue | str) -> SSAValue:
        return self.rw.value(kind(*operands))


_RULES: Rules = {AttentionOp: (_split,)}
