"""A small diffusion U-Net, compiled with `torch.compile(model, backend="mlir")`.

python examples/unet.py [--backend mlir]
"""

from __future__ import annotations

import argparse
import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class TimeEmbedding(nn.Module):
    """Sines and cosines of the diffusion step, through a two-layer perceptron."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.first = nn.Linear(width, 4 * width)
        self.second = nn.Linear(4 * width, 4 * width)

    def forward(self, step: Tensor) -> Tensor:
        half = self.width // 2
        ladder = torch.arange(half, device=step.device, dtype=torch.float32) * (-math.log(10000.0) / half)
        angles = step.float()[:, None] * torch.exp(ladder)[None, :]
        waves = torch.cat([angles.cos(), angles.sin()], dim=-1).to(self.first.weight.dtype)
        return self.second(functional.silu(self.first(waves)))


class ResidualBlock(nn.Module):
    """norm, silu, conv; add the time embedding; norm, silu, conv; add the input."""

    def __init__(self, source: int, target: int, time: int, groups: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, source)
        self.conv1 = nn.Conv2d(source, target, 3, padding=1)
        self.time = nn.Linear(time, target)
        self.norm2 = nn.GroupNorm(groups, target)
        self.conv2 = nn.Conv2d(target, target, 3, padding=1)
        self.skip = nn.Identity() if source == target else nn.Conv2d(source, target, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.conv1(functional.silu(self.norm1(x)))
        y = y + self.time(functional.silu(time))[:, :, None, None]
        y = self.conv2(functional.silu(self.norm2(y)))
        return self.skip(x) + y


class Attention(nn.Module):
    """Self-attention over the pixels of the coarsest level."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups, width)
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.out = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        batch, width, height, breadth = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, 3, self.heads, width // self.heads, height * breadth)
        q, k, v = qkv.transpose(-1, -2).unbind(1)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(mixed.transpose(-1, -2).reshape(batch, width, height, breadth))


class UNet(nn.Module):
    """Predicts the noise in `image` at diffusion step `step`."""

    def __init__(self, channels: int = 3, width: int = 32, levels: int = 3, heads: int = 4, groups: int = 8):
        super().__init__()
        time = 4 * width
        widths = [width * 2**level for level in range(levels)]
        self.embed = TimeEmbedding(width)
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.down = nn.ModuleList(
            ResidualBlock(a, b, time, groups) for a, b in zip([width, *widths], widths, strict=False)
        )
        self.shrink = nn.ModuleList(nn.Conv2d(w, w, 3, stride=2, padding=1) for w in widths[:-1])
        self.middle = Attention(widths[-1], heads, groups)
        self.up = nn.ModuleList(
            ResidualBlock(fine + coarse, fine, time, groups)
            for fine, coarse in zip(widths[-2::-1], widths[:0:-1], strict=True)
        )
        self.norm = nn.GroupNorm(groups, width)
        self.head = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, image: Tensor, step: Tensor) -> Tensor:
        time = self.embed(step)
        x = self.stem(image)
        kept: list[Tensor] = []
        for level, block in enumerate(self.down):
            x = block(x, time)
            if level < len(self.shrink):
                kept.append(x)
                x = self.shrink[level](x)
        x = self.middle(x)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([kept.pop(), x], dim=1), time)
        return self.head(functional.silu(self.norm(x)))


def main() -> None:
    """Compile the network, run it and compare it with eager PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backend", default="mlir")
    backend = parser.parse_args().backend

    torch.manual_seed(0)
    model = UNet().eval()
    image, step = torch.randn(2, 3, 64, 64), torch.tensor([10, 500])
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        result, expected = compiled(image, step), model(image, step)
    print(f"{backend}: largest difference from eager {(result - expected).abs().max():.2e}")
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main()
