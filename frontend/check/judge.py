"""When two runs of one function agree.

Integers and booleans agree exactly. Floats agree where they are close; where they are not, the
changed result must be as near to the float64 truth as the rule of this project asks (RMSE at
most twice that of the unchanged one, three times for 16-bit types), so that a pass may add in
another order and may not compute something else. Both runs in float64 must agree as well, up
to constants that were folded in the narrower type: that is the sharper of the two tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute

_RELATIVE: dict[Attribute, float] = {f64: 1e-9, f32: 5e-6, bf16: 2e-2, f16: 4e-3}
_EPSILON: dict[Attribute, float] = {f64: 2.3e-16, f32: 1.2e-7, bf16: 7.9e-3, f16: 9.8e-4}
_SLACK = 64


@dataclass(frozen=True)
class Precision:
    """What the types of a module allow: its narrowest float type, and whether numbers may cancel."""

    narrow: Attribute = f32
    magnitude: float = 1.0
    """The largest finite number on the way; it bounds what rounding may have done to a result."""
    has_floats: bool = True

    @property
    def relative(self) -> float:
        return _RELATIVE[self.narrow]

    @property
    def rounding(self) -> float:
        """The largest error that rounding on the way may explain."""
        return _SLACK * _EPSILON[self.narrow] * self.magnitude

    @property
    def rounding_of_truth(self) -> float:
        """The same of a float64 run, whose result may be 0 but for it. Large numbers excuse nothing small."""
        return min(_SLACK * _EPSILON[f64] * self.magnitude, 1e-12)

    @property
    def summing(self) -> float:
        """What summing in another order may change, where nothing is rounded to a 16-bit type."""
        return 8 * _EPSILON[f64 if self.narrow == f64 else f32] * self.magnitude

    @property
    def factor(self) -> float:
        return 2.0 if self.narrow in (f32, f64) else 3.0


@dataclass(frozen=True)
class Values:
    """One result in four runs: before and after, in its own type and in float64."""

    before: Any
    after: Any
    truth: Any
    after64: Any


def difference(values: Values, precision: Precision, *, cancels: bool) -> str | None:
    """How the results differ, in one line; None where they agree.

    `cancels` says that the inputs were made of extremes, whose sums may lose every digit: then
    only an error beyond what rounding explains counts.
    """
    before, after, truth, after64 = values.before, values.after, values.truth, values.after64
    if before.shape != after.shape:
        return f"its sizes are {list(after.shape)} instead of {list(before.shape)}"
    if before.dtype != after.dtype:
        return f"its type is {after.dtype} instead of {before.dtype}"
    if before.dtype.kind != "f":
        return _exactly(before, after, truth, after64, precision)
    tolerance = precision.rounding if cancels else 0.0
    wrong = _wrong_truth(truth, after64, precision.relative, max(tolerance, precision.rounding_of_truth))
    if wrong.any():
        return _describe(wrong, truth, after64, truth, "in float64 ")
    return _wrong_rounding(before, after, truth, precision, tolerance)


def _exactly(before: Any, after: Any, truth: Any, after64: Any, precision: Precision) -> str | None:
    wrong = before != after
    if not wrong.any():
        return None
    if precision.has_floats and truth.shape == after64.shape and bool((truth == after64).all()):
        # A comparison of floats that were added in another order may turn out otherwise, rarely.
        if wrong.sum() <= max(1, wrong.size // 50):
            return None
    return _describe(wrong, before, after, truth)


def _wrong_truth(truth: Any, found: Any, relative: float, least: float) -> Any:
    """Where two float64 runs differ by more than folded constants explain."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(truth)
        numbers = truth[finite]
        scale = float((numbers * numbers).mean() ** 0.5) if numbers.size else 0.0
        scale = scale if np.isfinite(scale) else 0.0
        near = abs(truth - found) <= relative * (abs(truth) + scale) + least
    return ~(_same(truth, found) | (near & finite))


def _same(one: Any, other: Any) -> Any:
    """Where two arrays hold the same number, or both NaN."""
    return (one == other) | ((one != one) & (other != other))


def _wrong_rounding(
    before: Any, after: Any, truth: Any, precision: Precision, tolerance: float
) -> str | None:
    wide_before, wide_after = before.astype(np.float64), after.astype(np.float64)
    relative = _RELATIVE[f64 if precision.narrow == f64 else f32]
    absolute = max(tolerance, precision.summing)
    with np.errstate(all="ignore"):
        near = abs(wide_after - wide_before) <= relative * abs(wide_before) + absolute
        near &= np.isfinite(before)  # everything is within a fraction of an infinity
        as_true = abs(wide_after - truth) <= relative * abs(truth) + absolute
        as_true &= np.isfinite(truth)
    same = _same(before, after) | (_same(after, truth) & ~np.isfinite(truth))
    overflowed = ~np.isfinite(before) & np.isfinite(truth)  # the unchanged module was no better
    wrong = ~(same | near | as_true | overflowed)
    if not wrong.any():
        return None
    usable = np.isfinite(before) & np.isfinite(truth)
    if not np.isfinite(after[wrong & usable]).all() or (wrong & ~usable).any():
        return _describe(wrong, before, after, truth)
    ours, theirs = (_rmse(v, truth, usable) for v in (wide_after, wide_before))
    if ours <= precision.factor * theirs:
        return None
    text = _describe(wrong, before, after, truth)
    return f"{text}; RMSE to float64 {ours:.3g} instead of {theirs:.3g}"


def _rmse(value: Any, truth: Any, usable: Any) -> float:
    gap = value[usable] - truth[usable]
    return float((gap * gap).mean() ** 0.5) if gap.size else 0.0


def _describe(wrong: Any, before: Any, after: Any, truth: Any, how: str = "") -> str:
    """The first wrong element, how many there are, and the largest error."""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f"[{', '.join(map(str, at))}]" if at else "the only element"
    with np.errstate(all="ignore"):
        gap = np.abs(after.astype(np.float64) - before.astype(np.float64))[wrong]
    finite = gap[np.isfinite(gap)]
    largest = f", the largest difference is {float(finite.max()):.6g}" if finite.size else ""
    exact = "" if truth is before else f" (float64: {truth[at]!s})"
    return (
        f"{how}{int(wrong.sum())} of {wrong.size} elements differ{largest}; "
        f"at {place} {before[at]!s} became {after[at]!s}{exact}"
    )
