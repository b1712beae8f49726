"""Networks of convolutions on GPUs: images whose channels come last, between kernels and the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_gpu_convolutions import calls, check, strides
from test_gpu_emulated import compiled, floats
from torch import Tensor, nn
from torch.nn import functional as F

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.registry import new_context
from tilewright.dialects.th.calls import CallOp
from tilewright.dialects.th.memory import ViewOp


class Residual(nn.Module):
    """A stem, a pool, and a block with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 10, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(10)
        self.first, self.second = nn.Conv2d(10, 66, 3, stride=2, padding=1), nn.Conv2d(66, 66, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(66), nn.BatchNorm2d(66)])
        self.shortcut, self.head = nn.Conv2d(10, 66, 1, stride=2), nn.Linear(66, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 1, 1)
        y = F.relu(self.norms[0](self.first(x)))
        y = F.relu(self.norms[1](self.second(y)) + self.shortcut(x))
        return self.head(y.mean((2, 3)))


class Up(nn.Module):
    """Down and up again: groups are normed, halves are concatenated, the result is an image."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 66, 3, stride=2, padding=1)
        self.norm, self.up = nn.GroupNorm(3, 66), nn.ConvTranspose2d(66, 6, 2, stride=2)
        self.last = nn.Conv2d(14, 9, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.down(x))
        return self.last(torch.cat([x, self.up(F.silu(self.norm(self.middle(x))))], 1))


class Separable(nn.Module):
    """A channel at a time, then 1 x 1, weighed by what all places say of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.mix = nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.Conv2d(6, 66, 1)
        self.squeeze, self.excite = nn.Conv2d(66, 4, 1), nn.Conv2d(4, 66, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.hardswish(self.mix(self.each(x)))
        return y * self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))).sigmoid()


class Volume(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv3d(2, 6, 3, padding=1), nn.BatchNorm3d(6)
        self.second = nn.Conv3d(6, 66, 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.elu(self.norm(self.first(x))))


class Grouped(nn.Module):
    """In groups of several channels: all stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 66, 3, padding=1), nn.Conv2d(66, 8, 3, padding=1, groups=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.relu(self.first(x)))


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (Residual, (3, 3, 19, 22)),
    "up": (Up, (2, 2, 6, 10)),
    "separable": (Separable, (2, 6, 5, 7)),
    "volume": (Volume, (2, 2, 4, 3, 6)),
    "grouped": (Grouped, (2, 4, 7, 5)),
    "one_image_of_one_pixel": (Separable, (1, 6, 1, 1)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_training_is_as_eager(name: str, dtype: torch.dtype) -> None:
    make, shape = CASES[name]
    torch.manual_seed(0)
    check(make(), floats(*shape, seed=9, dtype=torch.float64).to(dtype))


def given(model: nn.Module, x: Tensor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """Which images and filters lie turned, of each call of a convolution or of the gradients of one."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(folder))
    compiled(model)(x).square().sum().backward()
    found: list[list[bool]] = []
    for plan in sorted(folder.rglob("*-plan-memory.mlir")):
        ops = list(ModuleParser(new_context(), plan.read_text(), plan.name).parse_module().walk())
        found += [
            [_is_turned(v) for v in op.operands if v.owner.sizes.data.count(",") == 3]
            for op in ops
            if isinstance(op, CallOp) and "convolution" in op.callee.data
        ]
    return found


def _is_turned(handle: Any) -> bool:
    owner = handle.owner
    assert isinstance(owner, ViewOp)
    numbers = [[int(e) for e in text.data.split(",")] for text in (owner.sizes, owner.strides)]
    return torch.empty_strided(*numbers).is_contiguous(memory_format=torch.channels_last)


def test_a_library_is_given_channels_last_and_nothing_is_turned_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = given(Residual(), floats(2, 3, 32, 32), tmp_path, monkeypatch)
    assert calls[0] == [False, True]  # the photograph is the caller's
    assert sorted(calls[4:]) == [[True, False, True], *[[True, True, True]] * 3]
    assert all(all(images) for images in calls[1:4])


def test_groups_of_several_channels_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = given(Grouped(), floats(2, 4, 8, 8), tmp_path, monkeypatch)
    assert len(calls) == 4
    assert not any(any(images) for images in calls)


@pytest.mark.parametrize("name", ["residual", "up"])
def test_what_a_caller_has_channels_last_stays_so(name: str) -> None:
    make, shape = CASES[name]
    model = make().to(memory_format=torch.channels_last)
    x = floats(*shape).to(memory_format=torch.channels_last)
    wanted, found = model(x), compiled(model)(x)
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert strides(found) == strides(wanted)


def test_sizes_may_be_symbols() -> None:
    model = Residual().eval()
    function = compiled(model, dynamic=True)
    for shape in ((2, 3, 19, 22), (3, 3, 16, 17)):
        x = floats(*shape)
        found = [g for f in (function, model) for g in torch.autograd.grad(f(x).sum(), model.stem.weight)]
        torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


def test_halves_of_one_pixel_and_more_are_products_of_rows() -> None:
    model = Separable().bfloat16()
    forward, backward = calls(model, floats(2, 6, 5, 7).bfloat16())
    assert forward == {"aten::convolution"}  # that of a channel at a time
    assert backward == {"aten::convolution_backward"}
