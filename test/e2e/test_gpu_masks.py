"""Attention under masks: which blocks of keys the kernels visit, and that nothing visible is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from test_gpu_emulated import compiled, floats
from torch import Tensor
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from benchmarks.numerics import judge
from tilewright.targets.gpu_triton.emulator import language

Function = Callable[..., Any]
ROWS, KEYS = 300, 333
STEP = 32
"""Keys that a program takes at a time."""
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager computes gradients on CPUs, too, but for a check in front."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    torch._dynamo.reset()


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


def gradients(function: Function, inputs: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    leaves = [t.to(dtype).requires_grad_() for t in inputs]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, floats(*out.shape, seed=8).to(dtype))]


def check(function: Function, inputs: list[Tensor]) -> None:
    """As close to float64 as eager is, gradients too."""
    found, wanted = (gradients(f, inputs, torch.bfloat16) for f in (compiled(function), function))
    verdict = judge(found, wanted, gradients(function, inputs, torch.float64))
    assert verdict, verdict.why


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
    check(masked(MASKS[mask]), heads())


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


def test_blocks_outside_of_a_window_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6 blocks of rows, 128 each, each but the first sees 40 keys before it; two heads, two products."""
    inputs = heads(768, 768)
    function = compiled(written_out)
    with products(monkeypatch) as count, torch.no_grad():
        function(*inputs)
    assert count[0] == 2 * 2 * (6 * 128 // STEP + 5 * 2)
