"""Random networks, as text that runs by itself: what models are made of, at odd sizes, with gradients."""

from __future__ import annotations

import random
import re
from math import prod
from typing import Any

import torch
from network_blocks import IMAGES, TOKENS, Block, Sizes
from network_losses import loss
from torch import Tensor
from torch.nn import functional as F

SMALL = Sizes(
    dtypes=("float32", "float32", "bfloat16", "bfloat16", "float16"),
    batches=(1, 2, 3),
    lengths=(1, 7, 16, 33, 64, 130),
    first_widths=(3, 8, 20, 32, 64, 100),
    channels=(1, 3, 8, 12, 16, 32),
    sides=(5, 8, 13, 16),
    other_sides=(7,),
    widths=(5, 8, 16, 24, 32, 48, 64, 100, 128),
    depths=(4, 8, 16, 20, 32, 64),
)
"""Quickly run, for numbers."""
LARGE = Sizes(
    dtypes=("bfloat16", "bfloat16", "float16", "float32"),
    batches=(1, 2, 4),
    lengths=(1, 64, 130, 197, 256),
    first_widths=(20, 64, 100, 192, 256, 384),
    channels=(3, 16, 32, 64, 96),
    sides=(14, 16, 28, 32),
    other_sides=(),
    widths=(24, 64, 100, 128, 192, 256, 384, 512),
    depths=(16, 32, 48, 64, 80, 96, 128, 160),
)
"""As models are, for what kernels take of a GPU."""


def random_network(seed: int, sizes: Sizes = SMALL) -> str:
    """Source that defines `inputs()` and `program(...)`, which takes them and returns tensors.

    The first input is what goes through the network, the others are its parameters, masks and places.
    `TRAINED` says whether gradients are asked for, `DYNAMIC` whether sizes are symbols, `VALID` that eager
    runs it.
    """
    return _Network(random.Random(seed), sizes).text(seed)


class _Network:
    """Implements `Body` of network_blocks.py: runs each line as it is drawn, so that shapes are known."""

    def __init__(self, rng: random.Random, sizes: Sizes) -> None:
        self.rng, self.sizes = rng, sizes
        self.lines: list[str] = []
        self._makers: dict[str, str] = {}
        self._space: dict[str, Any] = {"torch": torch, "F": F}

    def text(self, seed: int) -> str:
        rng = self.rng
        dtype = rng.choice(self.sizes.dtypes)
        trained, dynamic = rng.random() < 0.5, rng.random() < 0.2
        x = self.input(*self._first_shape())
        kept = [x]
        for _ in range(rng.randint(2, 7)):
            x = self._block(x, kept)
            kept.append(x)
        if rng.random() < 0.4:
            x = self.let(loss(self, x))
        results = ", ".join(dict.fromkeys([*rng.sample(kept[1:], rng.choice((0, 0, 1))), x]))
        body = "\n".join(f"    {line}" for line in self.lines)
        read = {name: maker for name, maker in self._makers.items() if re.search(rf"\b{name}\b", body)}
        makers = "\n".join(f"        {maker}," for maker in read.values())
        return (
            "import torch\nfrom torch.nn import functional as F\n\n"
            f"VALID, TRAINED, DYNAMIC = True, {trained}, {dynamic}\n\n\n"
            f"def inputs():\n    torch.manual_seed({seed})\n    dtype = torch.{dtype}\n"
            f"    return (\n{makers}\n    )\n\n\n"
            f"def program({', '.join(read)}):\n{body}\n    return ({results},)\n"
        )

    def _first_shape(self) -> tuple[int, ...]:
        rng, sizes = self.rng, self.sizes
        if rng.random() < 0.6:
            return rng.choice(sizes.batches), rng.choice(sizes.lengths), rng.choice(sizes.first_widths)
        side = rng.choice(sizes.sides)
        return 2, rng.choice(sizes.channels), side, rng.choice((side, side, *sizes.other_sides))

    def _block(self, x: str, kept: list[str]) -> str:
        """What follows: a block for such a tensor, perhaps added to it or to one before it."""
        rng = self.rng
        blocks: tuple[Block, ...] = IMAGES if len(self.shape(x)) == 4 else TOKENS
        made = self.let(rng.choice(blocks)(self, x))
        same = [name for name in kept if self.shape(name) == self.shape(made)]
        if same and rng.random() < 0.5:
            made = self.let(f"{made} + {rng.choice(same)}")
        return made

    # What blocks ask for

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._space[name].shape)

    def input(self, *shape: int, scale: float = 1.0) -> str:
        times = f" * {scale:.3g}" if scale != 1.0 else ""
        return self._made(f"(torch.randn({list(shape)}){times}).to(dtype)")

    def weight(self, *shape: int) -> str:
        """A matrix or filter, such that what it makes of numbers around 1 is around 1."""
        return self.input(*shape, scale=max(1, prod(shape[1:])) ** -0.5)

    def places(self, count: int, below: int) -> str:
        return self._made(f"torch.randint({below}, [{count}])")

    def mask(self, *shape: int) -> str:
        return self._made(f"torch.rand({list(shape)}) < 0.7")

    def _made(self, maker: str) -> str:
        name = f"a{len(self._makers)}"
        self._makers[name] = maker
        self._space[name] = eval(maker, {"torch": torch, "dtype": torch.float32})
        return name

    def let(self, expression: str) -> str:
        name = f"v{len(self.lines)}"
        with torch.no_grad():
            value = eval(expression, self._space)
        assert isinstance(value, Tensor)
        self._space[name] = value
        self.lines.append(f"{name} = {expression}")
        return name
