"""Random networks, as text that runs by itself: what models are made of, at odd sizes, with gradients."""

from __future__ import annotations

import random

from network_blocks import IMAGES, TOKENS, Block, Network, Sizes
from network_losses import loss

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
    rng = random.Random(seed)
    network = Network(rng, sizes)
    dtype = rng.choice(sizes.dtypes)
    trained, dynamic = rng.random() < 0.5, rng.random() < 0.2
    x = network.input(*_first_shape(rng, sizes))
    kept = [x]
    for _ in range(rng.randint(2, 7)):
        x = _block(network, x, kept)
        kept.append(x)
    if rng.random() < 0.4:
        x = network.let(loss(network, x))
    results = list(dict.fromkeys([*rng.sample(kept[1:], rng.choice((0, 0, 1))), x]))
    return network.text(seed, dtype, results, VALID=True, TRAINED=trained, DYNAMIC=dynamic)


def _first_shape(rng: random.Random, sizes: Sizes) -> tuple[int, ...]:
    if rng.random() < 0.6:
        return rng.choice(sizes.batches), rng.choice(sizes.lengths), rng.choice(sizes.first_widths)
    side = rng.choice(sizes.sides)
    return 2, rng.choice(sizes.channels), side, rng.choice((side, side, *sizes.other_sides))


def _block(b: Network, x: str, kept: list[str]) -> str:
    """What follows: a block for such a tensor, perhaps added to it or to one before it."""
    blocks: tuple[Block, ...] = IMAGES if len(b.shape(x)) == 4 else TOKENS
    made = b.let(b.rng.choice(blocks)(b, x))
    same = [name for name in kept if b.shape(name) == b.shape(made)]
    if same and b.rng.random() < 0.5:
        made = b.let(f"{made} + {b.rng.choice(same)}")
    return made
