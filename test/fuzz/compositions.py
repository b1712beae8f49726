"""Random short programs of operators that meet: up to five on one value, and an end such as a loss.

Networks hold what models are made of, in its order; here anything stands before anything, at any rank.
"""

from __future__ import annotations

import random
from math import prod

from bodies import Body
from composed_operators import OPERATORS, Choices
from network_losses import loss

_DTYPES = ("float32", "float32", "float32", "bfloat16", "bfloat16", "float16", "float64")
_SIZES = (1, 2, 3, 5, 8, 12, 16, 33, 40, 64, 70, 100, 128, 130, 257)
_LONG = (300, 512, 1000, 1024, 2050, 4100, 20000)
_MOST = 60_000
"""Elements of a value: the emulator of GPUs takes seconds for more."""
_ENDS: tuple[tuple[str, ...], ...] = (
    ("{x}.sum({dim}) * 0.1",),
    ("{x}.mean({dim})",),
    ("{x}.sum({dim})", "{x}.sum({dim2})"),
    ("{x}", "{x}.mean()"),
    ("{x} * 1", "{x}.mean({dim})"),
    ("{x}.amax({dim}).square().mean()",),
    ("{x}.mean({dim}).amax()",),
    ("{x}.var({dim}, correction=0)",),
    ("{x}.square().sum({dim}).sum()",),
    ("({x} * {w}).sum()", "{x}.float().abs().mean({dim2})"),
    ("torch.logsumexp({x}.flatten(), 0)",),
    ("{x}.amin()", "{x}.amax({dim}, keepdim=True)"),
    ("{x}.transpose({dim}, {dim2}).contiguous()",),
)


def random_composition(seed: int) -> str:
    """Source that defines `inputs()` and `program(...)`, as `random_network` does.

    Eager may refuse it: some operators have no halves, and some results no gradient.
    """
    rng = random.Random(seed)
    body = Body(rng)
    dtype = rng.choice(_DTYPES)
    trained, dynamic = rng.random() < 0.4, rng.random() < 0.25
    kept = [body.input(*_shape(rng))]
    for _ in range(rng.randint(1, 5)):
        kept.append(_operator(body, kept))
    return body.text(seed, dtype, _end(body, kept), TRAINED=trained, DYNAMIC=dynamic)


def _shape(rng: random.Random) -> tuple[int, ...]:
    shape = [rng.choice(_SIZES) for _ in range(rng.choice((1, 2, 2, 2, 3, 3, 4)))]
    if rng.random() < 0.15:
        shape[rng.randrange(len(shape))] = rng.choice(_LONG)
    while prod(shape) > _MOST // 2:
        largest = max(range(len(shape)), key=lambda axis: (shape[axis] not in _LONG, shape[axis]))
        shape[largest] = rng.choice(_SIZES[:6])
    return tuple(shape)


def _operator(body: Body, kept: list[str]) -> str:
    """Of the last value, now and then of one before it; perhaps put together with another of its shape."""
    rng = body.rng
    x = kept[-1] if rng.random() < 0.85 else rng.choice(kept)
    made = _applied(body, x, kept)
    same = [name for name in kept if body.shape(name) == body.shape(made)]
    if same and rng.random() < 0.3:
        y = rng.choice(same)
        joined = ("{} + {}", "{} * {}", "{} - {}", "torch.maximum({}, {})", "torch.where({1} > 0, {0}, {1})")
        made = body.let(rng.choice(joined).format(made, y))
    return made


def _applied(body: Body, x: str, kept: list[str]) -> str:
    """An operator that takes the shape of `x`, and gives finite numbers, not too many."""
    while True:
        (family,) = body.rng.choices([f for _, f in OPERATORS], [weight for weight, _ in OPERATORS])
        text = filled(body, body.rng.choice(family), x, kept)
        made = body.tried(text) if text else None
        if made is not None and 0 < made.numel() <= _MOST and made.is_floating_point():
            if bool(made.isfinite().all()) and made.abs().max() < 1000:
                return body.let(text)


def filled(body: Body, template: str, x: str, kept: list[str]) -> str:
    """The template with names and numbers in its braces; empty where `x` has not the axis that it names."""
    try:
        return template.format_map(_choices(body, x, kept))
    except IndexError:
        return ""


def _choices(body: Body, x: str, kept: list[str]) -> Choices:
    return Choices(body, x, [name for name in kept if body.shape(name) == body.shape(x)])


def _end(body: Body, kept: list[str]) -> list[str]:
    """Names of what the program returns."""
    rng, x = body.rng, kept[-1]
    kind, shape = rng.random(), body.shape(x)
    if kind < 0.2 or not shape:
        return [*dict.fromkeys([*rng.sample(kept[1:], 1), x])]
    if kind < 0.45 and len(shape) > 1:
        return [body.let(loss(body, x))]
    choices = _choices(body, x, kept)
    return [body.let(text.format_map(choices)) for text in rng.choice(_ENDS)]
