"""Which rewrite of a pass, or else which op, made the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation

from .bisection import bisect_rewrites
from .execute import AtenMaker, is_array, run
from .session import Expected


def find_culprit(
    spec: str,
    before: ModuleOp,
    after: ModuleOp,
    is_wrong: Callable[[ModuleOp], bool],
    expected: Expected,
    aten: AtenMaker | None,
) -> tuple[Operation | None, str]:
    """An op of `after` that computes what nothing computed before, and the rewrite that is guilty."""
    op = first_new_value(before, after, expected, aten)
    found = bisect_rewrites(spec, before, is_wrong)
    if found is None:
        text = "the pass as a whole (it makes no counted rewrites)"
    else:
        text = str(found)
    if op is not None:
        text += f"\nfirst value that was not there before: `{op.name}` at {op.location}"
    return op, text


Recorded = list[tuple[Operation, Sequence[Any]]]


def first_new_value(
    before: ModuleOp, after: ModuleOp, expected: Expected, aten: AtenMaker | None
) -> Operation | None:
    """The first op of `after` with a result whose elements no op of `before` has, in any order."""
    old, new = (_record(module, expected, aten) for module in (before, after))
    known = {_fingerprint(v) for _, values in old for v in values}
    for op, values in new:
        if any(_fingerprint(v) not in known for v in values) and not isinstance(op.location, UnknownLoc):
            return op
    return next((op for op, values in new if any(_fingerprint(v) not in known for v in values)), None)


def _record(module: ModuleOp, expected: Expected, aten: AtenMaker | None) -> Recorded:
    recorded: Recorded = []

    def note(op: Operation, values: Sequence[Any]) -> None:
        arrays = [np.array(v) for v in values if is_array(v)]
        if arrays:
            recorded.append((op, arrays))

    run(module, expected.entry, expected.case, expected.sizes, float64=True, aten=aten, observe=note)
    return recorded


def _fingerprint(value: Any) -> tuple[object, ...]:
    """Equal for arrays with the same elements up to rounding and order."""
    flat = np.sort(np.asarray(value, np.float64).reshape(-1))
    finite = flat[np.isfinite(flat)]
    digits = tuple(float(f"{v:.6g}") for v in finite[:: max(1, finite.size // 64)])
    return (flat.size, int(np.isnan(flat).sum()), digits)
