"""Products that a library would do, as kernels, where these become chained products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.ir import Operation, OpResult
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import sizes_of

from ..fusion.absorb_views import absorb_views
from ..kernels.chains import find_chain
from ..kernels.naming import name_after
from ..lowering.lower_attention import LEAST_ROWS
from ..lowering.lower_products import VIEWS, factors_of, lower_matmul
from ..memory.views import behind, readers
from ..rewrite import skip
from ..schedule.loops.row_chain import chain_bounds
from .walk_lists import goes_along_lists
from .whole_axes import join_axes

Why = Callable[[KernelOp], str | None]
"""Why a chain shall not be."""


@dataclass(frozen=True)
class _Calls:
    """Two products and the softmax in between."""

    last: MatmulOp
    weights: KernelOp
    number: int
    """Of the result of `weights` that `last` reads."""
    scores: MatmulOp


def chain_calls(last: MatmulOp, chain: Callable[[KernelOp, Why], bool]) -> None:
    """Let `chain` make one kernel of `last`, a softmax that it reads, and the product of which that is.

    What these were so far is left dead.
    """
    calls = _calls(last)
    if calls is None:
        return
    rows = sizes_of(last.result)[-2].constant
    if rows is not None and rows < LEAST_ROWS:
        return skip(last, f"not chained: it has fewer than {LEAST_ROWS} rows")
    if {use.operation for use in calls.scores.result.uses} != {calls.weights}:
        return skip(last, "not chained: its scores have other readers")
    if readers(calls.weights.results[calls.number], _is_read_through) != {last}:
        return skip(last, "not chained: its weights have other readers")
    made = _kernels(calls)
    if not chain(made[-1], _why_calls):
        _exchange(calls, made, back=True)
        for kernel in reversed(made):
            Rewriter.erase_op(kernel)
    return None


def _why_calls(made: KernelOp) -> str | None:
    """Why calls of a library do what the chain `made` would, where they do it better.

    Of halves they make more than kernels do that multiply in f32, unless these leave out a part of the work.
    """
    chain = find_chain(made.body.block)
    if chain is None or all(FACTORS not in f.reduce.attributes for f in chain.inner):
        return None
    whole = ZERO, made.space[chain.along]
    bounded = chain_bounds(chain, made.space, LEAST_ROWS, LEAST_ROWS) != whole
    return None if bounded or goes_along_lists(made, chain) else "a library multiplies halves faster"


def _calls(last: MatmulOp) -> _Calls | None:
    for value in (last.lhs, last.rhs):
        source, _ = behind(value, _is_read_through)
        if not isinstance(source, OpResult) or not isinstance(weights := source.op, KernelOp):
            continue
        for scores in (v.owner for v in weights.operands if _is_softmax(weights)):
            if isinstance(scores, MatmulOp) and scores.bias is None and last.bias is None:
                return _Calls(last, weights, source.index, scores)
    return None


def _is_read_through(op: Operation) -> bool:
    """Whether a product's factor may be the result of this view."""
    return isinstance(op, VIEWS)


def _is_softmax(kernel: KernelOp) -> bool:
    ops = list(kernel.body.block.ops)
    kinds = {op.kind.data for op in ops if isinstance(op, ReduceOp)}
    return {"max", "add"} <= kinds and any(isinstance(op, math.ExpOp) for op in ops)


def _kernels(calls: _Calls) -> tuple[KernelOp, KernelOp, KernelOp]:
    """All three as kernels, which read each other, and whose results others read."""
    scores, last = (lower_matmul(op, factors_of(op)) for op in (calls.scores, calls.last))
    weights = calls.weights.clone()
    made = scores, weights, last
    for old, new in zip((calls.scores, calls.weights, calls.last), made, strict=True):
        if isinstance(old, MatmulOp):
            name_after(new, old)
        new.location = old.location
        Rewriter.insert_op(new, InsertPoint.before(old))
    for kernel in (scores, last):
        absorb_views(kernel)
    read = calls.weights.results[calls.number]
    last.operands = [weights.results[calls.number] if v is read else v for v in last.operands]
    weights.operands = [scores.results[0] if v is calls.scores.result else v for v in weights.operands]
    join_axes(weights)
    _exchange(calls, made)
    return made


def _exchange(calls: _Calls, made: Sequence[Operation], *, back: bool = False) -> None:
    """Let others read the results of `made`, or those of the old ones."""
    _, weights, last = made
    pairs = list(zip(calls.weights.results, weights.results, strict=True))
    del pairs[calls.number]
    for old, new in (*pairs, (calls.last.result, last.results[0])):
        old, new = (new, old) if back else (old, new)
        old.replace_all_uses_with(new)
