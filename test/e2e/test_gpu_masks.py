"""Attention under masks: which blocks of keys the kernels visit, and that nothing visible is left out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from flex_gradients import Function, check, gradients
from test_gpu_emulated import compiled, floats
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.numerics import judge
from tilewright.targets.gpu_triton.emulator import language

ROWS, KEYS = 300, 333
STEP = 64
"""Keys that a program takes at a time."""
pytestmark = [
    pytest.mark.usefixtures("flex_gradients_on_cpus"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]


MASKS: dict[str, Function] = {
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i >= j) & (i - j <= 40),
    "band": lambda b, h, i, j: (i - j).abs() < 50,
    "ahead": lambda b, h, i, j: ~((i >= j) | (j > i + 70)),
    "prefix": lambda b, h, i, j: (i >= j) | (j < 45),
    "every other": lambda b, h, i, j: 2 * i - j >= 100,
    "nothing": lambda b, h, i, j: j - i > KEYS,
}


def heads(rows: int = ROWS, keys: int = KEYS, depth: int = 16) -> list[Tensor]:
    return [floats(1, 2, n, depth, seed=i, dtype=torch.bfloat16) for i, n in enumerate((rows, keys, keys))]


@contextmanager
def products(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The products of tiles that programs do, all of them together, as one number."""
    count, dot = [0], language._PLAIN["dot"]

    def counted(*args: Any, **kwargs: Any) -> Any:
        count[0] += max(arg.data.shape[0] for arg in args)
        return dot(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setitem(language._PLAIN, "dot", counted)
        yield count


def masked(mask: Function, rows: int = ROWS, keys: int = KEYS) -> Function:
    found = create_block_mask(mask, None, None, rows, keys, "cpu")
    return lambda q, k, v: flex_attention(q, k, v, block_mask=found)


@pytest.mark.parametrize("mask", MASKS)
def test_masks_on_positions(mask: str) -> None:
    check(masked(MASKS[mask]), *heads())


def written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A window, without flex attention."""
    far = torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])
    scores = (q @ k.transpose(-2, -1)).to(torch.promote_types(q.dtype, torch.float32))
    return scores.masked_fill((far < 0) | (far > 40), -math.inf).softmax(-1).to(v.dtype) @ v


def test_lengths_are_symbols() -> None:
    both = torch.compile(written_out, backend="mlir", options={"target": "gpu_emulated"}, dynamic=True)
    for rows, keys in ((70, 75), (200, 201)):
        inputs = heads(rows, keys)
        found, wanted = (gradients(f, inputs, torch.bfloat16) for f in (both, written_out))
        torch.testing.assert_close(found, wanted, rtol=3e-2, atol=2e-2)


@pytest.mark.parametrize("mask", ["causal", "prefix", "every other"])
def test_steps_of_which_nothing_is_hidden(mask: str) -> None:
    """They have a loop without the mask, before the others; of gradients of keys, behind them."""
    rows, keys = 600, 640
    seen = MASKS[mask](None, None, torch.arange(rows)[:, None], torch.arange(keys))

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.mT).to(torch.promote_types(q.dtype, torch.float32)) / 4
        return scores.masked_fill(~seen, -math.inf).softmax(-1).to(v.dtype) @ v

    check(function, *(t[:, :1] for t in heads(rows, keys)))


def test_causal_attention_of_f32_in_many_steps() -> None:
    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    check(function, *(t[:, :1].float() for t in heads(300, 300)))


def test_blocks_outside_of_a_window_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6 blocks of rows, 128 each, each but the first sees 40 keys before it; two heads, two products."""
    inputs = heads(768, 768)
    function = compiled(written_out)
    with products(monkeypatch) as count, torch.no_grad():
        function(*inputs)
    assert count[0] == 2 * 2 * (6 * 128 // STEP + 5 * -(-40 // STEP))


DOCUMENTS = torch.cat((torch.full((130,), 3), torch.arange(KEYS - 130) // 60))
LISTED: dict[str, Function] = {
    "causal": MASKS["causal"],
    "documents": lambda b, h, i, j: DOCUMENTS[i] == DOCUMENTS[j],
    "heads": lambda b, h, i, j: (i - j).abs() <= 60 * h + 10,
    "batches": lambda b, h, i, j: (j < 100 * b + 50) | (i == j),
    "blind": lambda b, h, i, j: (i > 140) & (j > 150),
}


def grouped(rows: int = ROWS, keys: int = KEYS) -> list[Tensor]:
    """Two batches of four heads, two of which share keys."""
    shapes = ((2, 4, rows, 16), (2, 2, keys, 16), (2, 2, keys, 32))
    return [floats(*shape, seed=i, dtype=torch.bfloat16) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    ("mask", "size"),
    [
        ("causal", 128),
        ("documents", 64),
        ("heads", (48, 80)),
        ("batches", 128),
        ("blind", 128),
        ("blind", 24),
    ],
)
def test_listed_blocks(mask: str, size: Any) -> None:
    """Blocks larger than those of a program, smaller, of other sizes, and such as programs cannot walk."""
    found = create_block_mask(LISTED[mask], 2, 4, ROWS, KEYS, "cpu", BLOCK_SIZE=size)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=found, enable_gqa=True), *grouped())


def listed_alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Blocks that are listed, and no function: the first of each row of blocks, and one more of the last."""
    counts = torch.tensor([[[1, 1, 2]]], dtype=torch.int32)
    columns = torch.tensor([[[[0, 9, 9], [0, 9, 9], [2, 0, 9]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=128, seq_lengths=(ROWS, KEYS))
    return flex_attention(q, k, v, block_mask=mask)


def dense(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same, said by a mask: eager flex attention does not look at lists."""
    table = torch.tensor([[1, 0, 0], [1, 0, 0], [1, 0, 1]], dtype=torch.bool)
    mask = table.repeat_interleave(128, 0).repeat_interleave(128, 1)[:ROWS, :KEYS]
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_what_is_not_listed_is_hidden() -> None:
    inputs = heads()
    found, wanted = (
        gradients(compiled(listed_alone), inputs, torch.bfloat16),
        gradients(dense, inputs, torch.bfloat16),
    )
    verdict = judge(found, wanted, gradients(dense, inputs, torch.float64))
    assert verdict, verdict.why


def test_listed_blocks_of_symbolic_lengths() -> None:
    def function(q: Tensor, k: Tensor, v: Tensor, mask: BlockMask) -> Tensor:
        return flex_attention(q, k, v, block_mask=mask)

    both = torch.compile(function, backend="mlir", options={"target": "gpu_emulated"}, dynamic=True)
    for rows, keys in ((200, 201), (300, 333)):
        mask = create_block_mask(MASKS["window"], None, None, rows, keys, "cpu")
        inputs = heads(rows, keys)
        with torch.no_grad():
            found, wanted = (f(*inputs, mask) for f in (both, function))
        torch.testing.assert_close(found, wanted, rtol=3e-2, atol=2e-2)


@pytest.mark.parametrize(("mask", "blocks"), [("window", 6 + 5), ("documents", 6 * 2)])
def test_only_listed_blocks_are_visited(mask: str, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 36 blocks of 128 x 128; two heads, two products of each step."""
    documents = torch.arange(768) // 256
    functions: dict[str, Function] = {
        "window": lambda b, h, i, j: (i >= j) & (i - j < 128),
        "documents": lambda b, h, i, j: documents[i] == documents[j],
    }
    inputs = heads(768, 768)
    function = compiled(masked(functions[mask], 768, 768))
    with products(monkeypatch) as count, torch.no_grad():
        function(*inputs)
    assert count[0] == 2 * 2 * blocks * 128 // STEP
