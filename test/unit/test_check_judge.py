"""When two runs agree: what becomes as infinite or as undefined as float64 is no worse."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import bf16

from tilewright.frontend.check.judge import Precision, Values, difference


@pytest.mark.parametrize(
    ("before", "after", "truth", "differs"),
    [
        (-0.037, np.nan, np.nan, False),  # (-3) ** -3, where -3 was -3.01 before it was rounded
        (1e30, np.inf, np.inf, False),
        (1e30, -np.inf, np.inf, True),
        (-0.037, np.nan, -0.037, True),
        (np.nan, 2.0, np.nan, True),
        (np.inf, 2.0, np.inf, True),
        (np.inf, 2.0, 2.0, False),  # an overflow less
    ],
)
def test_a_result_may_be_what_float64_makes_of_it(
    before: float, after: float, truth: float, differs: bool
) -> None:
    runs = (np.array([1.0, n], np.float32 if wide else np.float64) for n, wide in _runs(before, after, truth))
    assert (difference(Values(*runs), Precision(bf16), cancels=False) is not None) == differs


def _runs(before: float, after: float, truth: float) -> list[tuple[float, bool]]:
    """Two in their own types, two in float64, which agree."""
    return [(before, True), (after, True), (truth, False), (truth, False)]


@pytest.mark.parametrize("found", [2.0, -np.inf, np.nan])
def test_an_infinity_in_float64_stays_one(found: float) -> None:
    own = np.array([np.inf], np.float32)
    runs = Values(own, own, np.array([np.inf]), np.array([found]))
    assert difference(runs, Precision(bf16), cancels=True) is not None


@pytest.mark.parametrize(
    ("left", "magnitude", "differs"), [(4e-16, 1.0, False), (1e-9, 1.0, True), (1e-9, 1e30, True)]
)
def test_nothing_may_be_left_of_a_zero_but_rounding(left: float, magnitude: float, differs: bool) -> None:
    """The gradient of a softmax over one element, say: which terms cancel exactly depends on their order."""
    zeros, found = np.zeros(2), np.array([0.0, left])
    runs = Values(zeros.astype(np.float32), zeros.astype(np.float32), zeros, found)
    assert (difference(runs, Precision(magnitude=magnitude), cancels=False) is not None) == differs
