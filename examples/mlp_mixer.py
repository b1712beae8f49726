"""MLP-Mixer (Tolstikhin et al., 2021), trained a few steps with `torch.compile(backend="mlir")`.

python examples/mlp_mixer.py [--backend mlir]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional


class Perceptron(nn.Module):
    """Two linear layers with a GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.grow = nn.Linear(width, hidden)
        self.shrink = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.shrink(functional.gelu(self.grow(x)))


class MixerBlock(nn.Module):
    """Mixes across patches, then across channels; each with a norm and a residual."""

    def __init__(self, patches: int, width: int, patch_hidden: int, channel_hidden: int) -> None:
        super().__init__()
        self.patch_norm = nn.LayerNorm(width)
        self.patch_mix = Perceptron(patches, patch_hidden)
        self.channel_norm = nn.LayerNorm(width)
        self.channel_mix = Perceptron(width, channel_hidden)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.patch_mix(self.patch_norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.channel_norm(x))


class MlpMixer(nn.Module):
    """Classifies square images cut into square patches."""

    def __init__(
        self, image: int = 64, patch: int = 8, width: int = 128, depth: int = 4, classes: int = 10
    ) -> None:
        super().__init__()
        patches = (image // patch) ** 2
        self.stem = nn.Conv2d(3, width, patch, stride=patch)
        self.blocks = nn.Sequential(
            *(MixerBlock(patches, width, width // 2, 4 * width) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


def main() -> None:
    """Fit random labels for a few steps, forward and backward compiled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backend", default="mlir")
    backend = parser.parse_args().backend

    torch.manual_seed(0)
    model = MlpMixer()
    compiled = torch.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images, labels = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))
    for step in range(10):
        loss = functional.cross_entropy(compiled(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{backend}: step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
