"""Random torch programs: strides, views, in-place changes and dtypes, as text that runs by itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

from statements import FLOATS, statement


def random_program(seed: int) -> str:
    """Source that defines `inputs()` and `program(...)`, which takes them and returns tensors.

    `TRAINED` says whether gradients are asked for, `DYNAMIC` whether sizes are symbols.
    """
    rng = random.Random(seed)
    shapes = [_shape(rng) for _ in range(2)]
    if rng.random() < 0.7:
        shapes[1] = shapes[0]
    dtype = rng.choice(FLOATS)
    makers = [_input(rng, shape, dtype) for shape in shapes]
    trained = rng.random() < 0.25
    lines = ["a, b = a * 1, b * 1"] if trained else []  # a leaf takes no write
    names = ["a", "b"]
    for number in range(rng.randint(3, 12)):
        added = statement(rng, names, f"v{number}")
        lines += added
        if added[0].startswith(f"v{number} ="):
            names.append(f"v{number}")
    made = ", ".join(makers)
    body = "\n    ".join(lines)
    results = ", ".join(names[-3:])
    dynamic = rng.random() < 0.3
    return (
        f"import torch\nfrom torch.nn import functional as F\n\nTRAINED, DYNAMIC = {trained}, {dynamic}\n\n\n"
        f"def inputs():\n    torch.manual_seed({seed})\n    return ({made})\n\n\n"
        f"def program(a, b):\n    {body}\n    return {results}\n"
    )


def _shape(rng: random.Random) -> list[int]:
    shape = [rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5)))]
    return shape if prod(shape) <= 4000 else [min(n, 3) for n in shape]


def _input(rng: random.Random, shape: Sequence[int], dtype: str) -> str:
    """Contiguous, transposed, a slice with steps, or expanded: the strides that users have."""
    plain = f"torch.randn({list(shape)}).to(torch.{dtype})"
    kind = rng.random()
    if kind < 0.25 and len(shape) > 1:
        return f"torch.randn({list(shape[::-1])}).to(torch.{dtype}).permute({list(range(len(shape)))[::-1]})"
    if kind < 0.45:
        wide = [*shape[:-1], shape[-1] * 2]
        return f"torch.randn({wide}).to(torch.{dtype})[..., ::2]"
    return plain
