"""targets/gpu_triton/spelling.py: parentheses where they change what a text means, and nowhere else."""

from __future__ import annotations

import pytest

from tilewright.targets.gpu_triton.spelling import enclosed


@pytest.mark.parametrize(
    "text",
    [
        "x0",
        "128",
        "(x0 // 4)",
        "(x0 % (n + 1))",
        "tl.minimum(a, b)",
        "v5.to(tl.int32)",
        "_floor_div(a, (b))",
    ],
)
def test_what_stands_for_itself(text: str) -> None:
    assert enclosed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "-x0",
        "-(x0 // 4)",
        "a + b",
        "(a) + (b)",
        "(x0 // 4) % 8",
        "f(a, b) - 1",
        "f(a, b).to(tl.int32)",
    ],
)
def test_what_is_enclosed(text: str) -> None:
    assert enclosed(text) == f"({text})"
