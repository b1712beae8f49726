"""Packed convolutions and windows against torch, and the passes that make them against themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tw_harness import FLOATS, TORCH_DTYPES, check

from tilewright.dialects.tw.packed_convolution import PackedConvolutionOp, PackFilterOp
from tilewright.dialects.tw.window import WindowOp

TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "bf16": 1.6e-2, "f16": 2e-3}
CASES: list[dict[str, Any]] = [
    {"image": (2, 3, 9), "weight": (4, 3, 3), "s": [1], "d": [1], "width": 2},
    {"image": (2, 4, 9, 7), "weight": (6, 2, 3, 2), "s": [2, 1], "d": [1, 2], "groups": 2, "width": 3},
    {"image": (1, 2, 4, 5, 6), "weight": (3, 2, 2, 2, 2), "s": [1, 2, 1], "d": [1, 1, 2], "width": 1},
    {"image": (3, 4, 5, 4), "weight": (4, 1, 3, 3), "s": [1, 1], "d": [1, 1], "groups": 4, "width": 4},
    {"image": (1, 4, 5, 4), "weight": (8, 4, 1, 1), "s": [2, 2], "d": [1, 1], "width": 8},
    {"image": (2, 6, 9), "weight": (4, 6, 3), "s": [2], "d": [1], "width": 2, "pack": 3},
    {
        "image": (1, 8, 6, 5),
        "weight": (6, 4, 3, 2),
        "s": [1, 1],
        "d": [1, 2],
        "groups": 2,
        "width": 3,
        "pack": 2,
    },
]


def values(*shape: int, name: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(TORCH_DTYPES[name])


def last(x: torch.Tensor) -> torch.Tensor:
    return x.movedim(1, -1).contiguous()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("case", CASES)
def test_packed_convolution(name: str, case: dict[str, Any]) -> None:
    image, weight = values(*case["image"], name=name, seed=0), values(*case["weight"], name=name, seed=1)
    bias, groups, width = values(weight.shape[0], name=name, seed=2), case.get("groups", 1), case["width"]
    panels = weight.reshape(-1, width, *weight.shape[1:])
    packed, group = panels.permute(0, *range(3, panels.ndim), 2, 1).contiguous(), case.get("pack")
    if group is not None:
        packed = packed.unflatten(-2, (-1, group)).transpose(-1, -2).contiguous()
    check([weight], lambda v: PackFilterOp(v[0], width, group), packed)
    zeros = [0] * len(case["s"])
    wanted = torch.ops.aten.convolution(
        image.double(), weight.double(), bias.double(), case["s"], zeros, case["d"], False, zeros, groups
    )
    check(
        [last(image), packed, bias],
        lambda v: PackedConvolutionOp(v[0], v[1], v[2], case["s"], case["d"], groups),
        last(wanted).to(image.dtype),
        rtol=TOLERANCE[name],
        atol=TOLERANCE[name],
    )


@pytest.mark.parametrize("name", FLOATS)
def test_window(name: str) -> None:
    x = values(2, 9, 3, 8, name=name, seed=0)
    wanted = x.unfold(1, 5, 2)[..., ::2].unfold(3, 2, 3)
    check([x], lambda v: WindowOp(v[0], [1, 3], [3, 2], [2, 3], [2, 1]), wanted.contiguous())
