"""In how many parts attention of few queries is computed."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import bf16, i64
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.index_expr import Var, parse_exprs
from tilewright.dialects.tw.attention import AttentionOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.lowering.few_queries import Parts, parts_of
from tilewright.passes.lowering.lower_attention import why_library


def attention(text: str, *, causal: bool = False, seed: bool = False) -> AttentionOp:
    """Of "batch, heads of queries, those of keys, rows, keys"."""
    b, h, g, m, s = parse_exprs(text)
    q, k = (
        create_ssa_value(tensor_type(bf16, sizes)) for sizes in ([b, h, m, *parse_exprs("64")],
        [b, g, s, *parse_exprs("64")])
    )  # fmt: skip
    drawn = create_ssa_value(tensor_type(i64, [2])) if seed else None
    return AttentionOp(q, k, k, scale=1.0, is_causal=causal, seed=drawn, dropout_p=0.5 if seed else 0.0)


@pytest.mark.parametrize(
    ("sizes", "group", "count"),
    [
        ("1, 32, 8, 1, 8192", 4, 16),
        ("1, 32, 8, 1, 1024", 4, 8),  # of 128 keys at least
        ("1, 32, 8, 1, 1008", 4, 7),  # of whole sixteens
        ("1, 32, 8, 1, 1000", 4, 7),  # the last has 8 keys less
        ("1, 32, 8, 1, 1056", 4, 6),  # of equal length, rather than two more
        ("1, 32, 8, 1, 1136", 4, 8),  # but not one for all
        ("1, 2, 2, 1, 4016", 1, 28),  # 31 of whole sixteens would not all have keys
        ("1, 32, 8, 1, s0", 4, 16),
        ("1, 4, 2, 1, s0", 2, 32),  # of 4096, as far as one knows
        ("1, 32, 8, 1, 128", 1, 1),
        ("1, 4, 4, 1, 4096", 1, 32),
        ("1, 32, 1, 1, 8192", 32, 64),
        ("1, 32, 1, 16, 8192", 32, 32),  # four tiles of 128 rows
        ("1, 8, 2, 17, 8192", 1, 16),  # rows enough by themselves
        ("1, 1, 1, 200, 8192", 1, 16),  # of 512 keys at least, where tiles are full
        ("8, 4, 4, 256, 256", 1, 1),
        ("16, 32, 8, 1, 8192", 4, 1),  # there are programs enough
        ("16, 8, 8, 1, 8192", 1, 1),
        ("8, 32, 8, 1, 8192", 4, 2),
        ("s0, 32, 8, 1, 8192", 4, 1),  # of many sequences, as far as one knows
        ("0, 32, 8, 1, 8192", 1, 1),
        ("1, 32, 8, 0, 8192", 1, 1),
    ],
)
def test_parts(sizes: str, group: int, count: int) -> None:
    parts = parts_of(attention(sizes))
    assert isinstance(parts, Parts)
    assert (parts.group, parts.count) == (group, count)


@pytest.mark.parametrize("keys", ["8192", "1008", "1000", "1040", "4000", "300", "s0", "s0*2 + 1"])
def test_parts_hold_all_keys(keys: str) -> None:
    parts = parts_of(attention(f"1, 4, 2, 1, {keys}"))
    assert isinstance(parts, Parts)
    (number,) = parse_exprs(keys)
    for value in range(3, 3000, 7):
        length, of_all = (e.evaluate({Var("s", 0): value}) for e in (parts.length, number))
        assert length % 16 == 0
        assert (parts.count - 1) * length < of_all or number.constant is None
        assert of_all <= parts.count * length < of_all + 16 * parts.count


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (attention("1, 8, 8, 8192, 8192", causal=True), "it asks where a key stands"),
        (attention("1, 8, 8, 2, 8192", seed=True), "it asks where a key stands"),
        (attention("1, 8, 8, s0, 8192"), "its heads or rows are of a symbolic number"),
        (attention("1, s0, s0, 2, 8192"), "its heads or rows are of a symbolic number"),
    ],
)
def test_no_parts(op: AttentionOp, why: str) -> None:
    assert parts_of(op) == why


@pytest.mark.parametrize(
    ("sizes", "ours"),
    [
        ("1, 4, 4, 1, 4096", True),
        ("64, 32, 8, 1, 4096", True),
        ("64, 32, 32, 1, 4096", False),
        ("1, 4, 4, 1, s0", True),
        ("64, 4, 4, 1, s0", False),
        ("1, 4, 4, 2, s0", True),
    ],
)
def test_one_row_is_ours_in_parts_or_beside_others(sizes: str, ours: bool) -> None:
    assert (why_library(attention(sizes)) is None) == ours
