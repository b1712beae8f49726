"""The rule by which tests and benchmarks call a result right (`benchmarks/numerics.py`)."""

from __future__ import annotations

import re
from math import inf, nan

import pytest
import torch
from torch import Tensor

from benchmarks.numerics import judge, judge_tensor

TRUTH = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)
ERROR = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)


def off(by: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return (TRUTH + by * ERROR).to(dtype)


@pytest.mark.parametrize(
    ("ours", "eagers", "dtype", "right"),
    [
        (1e-7, 0.0, torch.float32, True),
        (1.9e-3, 1e-3, torch.float32, True),
        (2.1e-3, 1e-3, torch.float32, False),
        (1e-3, 0.0, torch.float32, False),
        (0.28, 0.1, torch.bfloat16, True),
        (0.35, 0.1, torch.bfloat16, False),
        (1e-6, 0.0, torch.float64, False),
    ],
)
def test_close_to_eager_or_as_close_to_float64(
    ours: float, eagers: float, dtype: torch.dtype, right: bool
) -> None:
    assert bool(judge_tensor(off(ours, dtype), off(eagers, dtype), TRUTH)) is right


def test_halves_on_the_way_may_cost_more() -> None:
    assert not judge_tensor(off(2.5e-3), off(1e-3), TRUTH)
    assert judge_tensor(off(2.5e-3), off(1e-3), TRUTH, halves=True)


@pytest.mark.parametrize(
    ("found", "expected"),
    [(nan, 1.0), (1.0, nan), (inf, 1.0), (1.0, -inf), (inf, nan), (inf, -inf), (-inf, inf)],
)
def test_what_is_no_number_is_eagers(found: float, expected: float) -> None:
    """Also where other elements keep the two from being close, and the rule looks at all that are finite."""
    got, want = off(1e-3), off(1e-3)
    got[1], want[1] = found, expected
    assert not judge_tensor(got, want, TRUTH)
    got[1] = expected
    got[0] += 2e-4
    assert judge_tensor(got, want, TRUTH)


def test_integers_are_exact() -> None:
    numbers = torch.arange(4)
    assert judge_tensor(numbers, numbers.clone(), numbers)
    assert not judge_tensor(numbers, numbers + (numbers == 3), numbers)


@pytest.mark.parametrize(
    ("got", "reason"),
    [
        (off(0.0).reshape(2, 2), r"torch.float32 \(2, 2\) instead of torch.float32 \(4,\)"),
        (off(0.0, torch.float64), r"torch.float64 \(4,\) instead of"),
        ([off(0.0)], "output structure"),
        (off(1.0), "RMSE to float64 1, eager's 0"),
    ],
    ids=["shape", "dtype", "structure", "numbers"],
)
def test_says_why(got: object, reason: str) -> None:
    verdict = judge(got, off(0.0), TRUTH)
    assert not verdict
    assert re.search(reason, verdict.why)
