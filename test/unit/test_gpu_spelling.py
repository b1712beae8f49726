"""targets/gpu_triton/spelling.py: parentheses where they change what a text means, and nowhere else."""

from __future__ import annotations

import pytest

from tilewright.targets.gpu_triton.spelling import bare, binary, enclosed


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
        "f(a, b).to(tl.int32)",
        "(a + b).to(tl.int32)",
        "x[:, None]",
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
    ],
)
def test_what_is_enclosed(text: str) -> None:
    assert enclosed(text) == f"({text})"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("(a + b)", "a + b"),
        ("(-1.0)", "-1.0"),
        ("a", "a"),
        ("(a + b) * (c)", "(a + b) * (c)"),
        ("(a).b()", "(a).b()"),
    ],
)
def test_what_is_bare(text: str, without: str) -> None:
    assert bare(text) == without


@pytest.mark.parametrize(
    ("lhs", "operator", "rhs", "text"),
    [
        ("(a - b)", "*", "c", "(a - b) * c"),
        ("(a * b)", "*", "c", "a * b * c"),
        ("a", "*", "(b * c)", "a * (b * c)"),
        ("(a * b)", "+", "(c / d)", "a * b + c / d"),
        ("(a - b)", "-", "(c - d)", "a - b - (c - d)"),
        ("(-1.0)", "*", "a", "(-1.0) * a"),
        ("a", "-", "(-b.to(tl.int32))", "a - (-b.to(tl.int32))"),
        ("(a < b)", "+", "c", "(a < b) + c"),
        ("(a // b)", "*", "c", "(a // b) * c"),
        ("(a + b)", "<", "(c + d)", "(a + b) < (c + d)"),
        ("(a + b)", "&", "(c < d)", "(a + b) & (c < d)"),
    ],
)
def test_parentheses_of_operands(lhs: str, operator: str, rhs: str, text: str) -> None:
    """Only where the order of operations would be another: rounding depends on it."""
    assert binary(lhs, operator, rhs) == text
