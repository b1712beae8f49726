"""Neighbours in memory of which each is another thing: pairs of rotary embeddings, gates, boxes, images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from test_gpu_emulated import check, compiled, floats
from torch import Tensor

from benchmarks.gpu_static import TARGETS, Lowered, lowering_for, rows_of, traced, unit_of
from benchmarks.numerics import judge
from tilewright.frontend.explain import explain
from tilewright.targets.gpu_triton.compiler import triton_version

Function = Callable[..., Any]
Inputs = tuple[Tensor, ...]
BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def rotary_in_f32(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


def rotate_every_two(x: Tensor, cos: Tensor) -> Tensor:
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
    return x * cos.repeat_interleave(2, -1) + turned


def gate(x: Tensor) -> Tensor:
    a, b = x[..., ::2].clamp(max=7.0), x[..., 1::2].clamp(-7.0, 7.0)
    return (b + 1) * (a * torch.sigmoid(a * 1.702))


def boxes(b: Tensor) -> Tensor:
    left, top, right, bottom = b.unbind(-1)
    return torch.stack(((left + right) / 2, (top + bottom) / 2, right - left, bottom - top), -1)


def shuffled(x: Tensor, bias: Tensor) -> Tensor:
    return F.pixel_shuffle(F.relu(x) + bias[:, None, None], 2)


def haar(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., ::2] + x[..., 1::2], x[..., ::2] - x[..., 1::2]


def enlarged(x: Tensor) -> Tensor:
    return F.interpolate(x, scale_factor=2, mode="nearest") * 2


def planes(x: Tensor) -> Tensor:
    return x.float().permute(0, 3, 1, 2) / 255 - 0.5


def first_of_pairs(x: Tensor) -> Tensor:
    return torch.stack((x, torch.zeros_like(x)), -1)


def part_of_rows(x: Tensor) -> Tensor:
    """Pairs of rows with gaps between them."""
    half = x[:, : x.shape[1] // 2]
    return half[:, ::2] * half[:, 1::2]


def not_aligned(x: Tensor) -> Tensor:
    return x[..., 1:-1:2] * x[..., 2::2]


def bits(x: Tensor) -> Tensor:
    return torch.stack((x > 0, x < 1), -1)


def rotations(dtype: torch.dtype, *sizes: int) -> Inputs:
    *_, rows, pairs = sizes
    return (
        floats(*sizes[:-1], 2 * pairs, dtype=dtype),
        floats(rows, pairs, dtype=dtype, seed=1),
        floats(rows, pairs, dtype=dtype, seed=2),
    )


CASES: dict[str, tuple[Function, Inputs]] = {
    "rotary": (rotary, rotations(BF16, 2, 3, 37, 32)),
    "rotary of halves": (rotary, rotations(F16, 2, 1, 19, 17)),
    "rotary of floats": (rotary, rotations(F32, 3, 37, 20)),
    "rotary of doubles": (rotary, rotations(F64, 3, 37, 20)),
    "rotary in f32": (rotary_in_f32, (*rotations(BF16, 2, 37, 32)[:1], *rotations(F32, 37, 32)[1:])),
    "every two": (rotate_every_two, rotations(BF16, 2, 5, 37, 32)[:2]),
    "gate": (gate, (floats(37, 130, dtype=BF16),)),
    "gate of floats": (gate, (floats(7, 66),)),
    "boxes": (boxes, (floats(3, 87, 4),)),
    "boxes of halves": (boxes, (floats(3, 87, 4, dtype=F16),)),
    "shuffled": (shuffled, (floats(2, 12, 5, 19, dtype=BF16), floats(12, dtype=BF16, seed=1))),
    "haar": (haar, (floats(3, 130),)),
    "enlarged": (enlarged, (floats(2, 3, 7, 18, dtype=BF16),)),
    "planes": (planes, (torch.arange(2 * 9 * 17 * 4, dtype=torch.uint8).reshape(2, 9, 17, 4),)),
    "one is zero": (first_of_pairs, (floats(5, 33),)),
    "rows with gaps": (part_of_rows, (floats(9, 132, dtype=BF16),)),
    "not aligned": (not_aligned, (floats(9, 65, dtype=BF16),)),
    "bits": (bits, (floats(5, 33),)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_is_right(name: str) -> None:
    function, inputs = CASES[name]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 1


@pytest.mark.parametrize("name", ["rotary", "gate", "boxes", "shuffled", "enlarged"])
def test_gradients(name: str) -> None:
    function, inputs = CASES[name]

    def gradients(how: Function, given: Sequence[Tensor]) -> list[Tensor]:
        leaves = [value.detach().clone().requires_grad_() for value in given]
        return list(torch.autograd.grad(how(*leaves).square().sum(), leaves))

    truth = gradients(function, [value.double() for value in inputs])
    verdict = judge(gradients(compiled(function), inputs), gradients(function, inputs), truth)
    assert verdict, verdict.why


@pytest.mark.parametrize("name", ["rotary", "gate of floats", "boxes", "enlarged"])
def test_symbolic_sizes(name: str) -> None:
    function, inputs = CASES[name]
    for count in (2, 3):
        check(function, *[torch.cat([value] * count, 0) if value is inputs[0] else value for value in inputs])


@pytest.mark.parametrize("function", [boxes, haar, first_of_pairs])
def test_no_elements(function: Function) -> None:
    check(function, floats(0, 4))


def test_what_is_not_finite() -> None:
    x, cos, sin = (value.clone() for value in rotations(F32, 4, 37, 32))
    x[0, ::3], x[1, ::5], cos[3] = float("nan"), float("inf"), float("-inf")
    check(rotary, x, cos, sin)


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["rotary", "boxes"])
def test_they_are_moved_at_once(name: str, target: str, tmp_path: Path) -> None:
    """By 128 bits, and lanes keep what they load: no shared memory."""
    inputs = rotations(BF16, 8, 512, 64) if name == "rotary" else (floats(65536, 4),)
    (module,) = traced(CASES[name][0], inputs, False, lowering_for(target))
    (row,) = rows_of(name, Lowered(module, unit_of(module, target), target), tmp_path)
    assert not row.faults
    assert row.wide_loads > 0
    assert row.shared == 0
