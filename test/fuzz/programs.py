"""Random torch programs: strides, views, in-place changes and dtypes, as text that runs by itself."""

from __future__ import annotations

import random
from collections.abc import Sequence

FLOATS = ("float32", "float32", "float64", "bfloat16", "float16")
UNARY = ("relu", "sigmoid", "tanh", "exp", "neg", "abs", "square", "sin", "floor", "erf", "sign")
REDUCTIONS = ("sum", "mean", "amax", "amin")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


def random_program(seed: int) -> str:
    """Source that defines `inputs()` and `program(...)`, which takes them and returns tensors."""
    rng = random.Random(seed)
    shapes = [_shape(rng) for _ in range(2)]
    if rng.random() < 0.7:
        shapes[1] = shapes[0]
    dtype = rng.choice(FLOATS)
    makers = [_input(rng, shape, dtype) for shape in shapes]
    lines: list[str] = []
    names = ["a", "b"]
    for number in range(rng.randint(3, 12)):
        lines.append(_statement(rng, names, f"v{number}"))
        if lines[-1].startswith(f"v{number} ="):
            names.append(f"v{number}")
    made = ", ".join(makers)
    body = "\n    ".join(lines)
    results = ", ".join(names[-3:])
    return (
        f"import torch\n\n\ndef inputs():\n    torch.manual_seed({seed})\n    return ({made})\n\n\n"
        f"def program(a, b):\n    {body}\n    return {results}\n"
    )


def _shape(rng: random.Random) -> list[int]:
    return [rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(rng.choice((1, 2, 2, 3)))]


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


def _statement(rng: random.Random, names: Sequence[str], new: str) -> str:
    x, y = rng.choice(names), rng.choice(names)
    dim = rng.choice((0, -1))
    choices = (
        f"{new} = torch.{rng.choice(UNARY)}({x})",
        f"{new} = torch.{rng.choice(BINARY)}({x}, {y}) if {x}.shape == {y}.shape else {x} * 2",
        f"{new} = {x}.transpose(0, -1) if {x}.dim() > 0 else {x} + 1",
        f"{new} = {x}.{rng.choice(REDUCTIONS)}({dim}, keepdim=True) if {x}.dim() else {x}.exp()",
        f"{new} = {x} - {x}.mean({dim}, keepdim=True) if {x}.dim() else {x} - 1",
        f"{new} = {x}.softmax({dim}) if {x}.dim() else {x}.cos()",
        f"{new} = {x}.reshape(-1)",
        f"{new} = {x}.unsqueeze({dim}) * 1.5",
        f"{new} = torch.where({x} > 0, {x}, {x}.neg() * 0.1)",
        f"{new} = {x}[..., ::2] if {x}.dim() else {x} * 3",
        f"{new} = {x}.flip(0) if {x}.dim() else {x}.neg()",
        f"{new} = torch.cat([{x}, {x} * 2], {dim}) if {x}.dim() else {x} + 2",
        f"{new} = {x}.cumsum({dim}) if {x}.dim() else {x} / 3",
        f"{new} = {x}.to(torch.{rng.choice(FLOATS)})",
        f"{new} = {x} @ {x}.transpose(-1, -2) if {x}.dim() >= 2 else {x} * {x}",
        f"{new} = {x}.clone().mul_(0.5).add_({rng.choice((1, -2))})",
        f"a.{rng.choice(('mul_(0.5)', 'add_(1)', 'clamp_(-1, 1)', 'neg_()'))}",
        f"{new} = {x}.clone(); {new}.view(-1)[::2].add_(1)",
    )
    return rng.choice(choices)
