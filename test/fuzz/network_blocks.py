"""What random networks are made of: functions that add lines to a network and return an expression."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from bodies import Body


@dataclass(frozen=True)
class Sizes:
    """What networks are drawn from."""

    dtypes: tuple[str, ...]
    batches: tuple[int, ...]
    lengths: tuple[int, ...]
    """Tokens of a sequence."""
    first_widths: tuple[int, ...]
    """Of the input's tokens."""
    channels: tuple[int, ...]
    """Of the input's images."""
    sides: tuple[int, ...]
    """Of images, square or `other_sides` wide."""
    other_sides: tuple[int, ...]
    widths: tuple[int, ...]
    """Of layers."""
    depths: tuple[int, ...]
    """Of heads."""


class Network(Body):
    """A network that is being written."""

    def __init__(self, rng: random.Random, sizes: Sizes) -> None:
        super().__init__(rng)
        self.sizes = sizes


Block = Callable[[Network, str], str]
_ACTIVATIONS = (
    "F.relu({})",
    "F.gelu({})",
    "F.gelu({}, approximate='tanh')",
    "F.silu({})",
    "torch.tanh({})",
    "F.softplus({})",
    "F.leaky_relu({}, 0.1)",
    "F.hardswish({})",
    "F.mish({})",
    "F.relu({}).square()",
    "F.elu({}) + 1",
    "{}",
)


def _activated(b: Network, expression: str) -> str:
    return b.rng.choice(_ACTIVATIONS).format(expression)


def _linear(b: Network, x: str, width: int) -> str:
    bias = b.input(width, scale=0.5) if b.rng.random() < 0.7 else "None"
    return b.let(f"F.linear({x}, {b.weight(width, b.shape(x)[-1])}, {bias})")


# Of tokens, [batch, length, width]


def linear(b: Network, x: str) -> str:
    return _activated(b, _linear(b, x, b.rng.choice(b.sizes.widths)))


def gated(b: Network, x: str) -> str:
    width = b.rng.choice(b.sizes.widths)
    if b.rng.random() < 0.5:
        both = _linear(b, x, 2 * width)
        return f"{_activated(b, f'{both}[..., :{width}]')} * {both}[..., {width}:]"
    return f"{_activated(b, _linear(b, x, width))} * {_linear(b, x, width)}"


def feed_forward(b: Network, x: str) -> str:
    inner = b.let(_activated(b, _linear(b, x, b.rng.choice(b.sizes.widths))))
    return _linear(b, inner, b.shape(x)[-1])


def norm(b: Network, x: str) -> str:
    width = b.shape(x)[-1]
    w, bias = b.input(width), b.input(width)
    return b.rng.choice(
        (
            f"F.layer_norm({x}, [{width}], {w}, {bias})",
            f"F.layer_norm({x}, {list(b.shape(x)[1:])})",
            f"F.rms_norm({x}, [{width}], {w}, 1e-5)",
            f"({x}.float() * torch.rsqrt({x}.float().square().mean(-1, keepdim=True) + 1e-5)).to({x}.dtype)",
            f"({x} - {x}.mean(1, keepdim=True)) / ({x}.std(1, keepdim=True, correction=0) + 0.1) * {w}",
            f"F.normalize({x}, dim=-1) * {w}",
            f"F.batch_norm({x}.transpose(1, 2), None, None, {w}, {bias}, True).transpose(1, 2)"
            if b.shape(x)[0] * b.shape(x)[1] > 1
            else f"{x} * {w}",
        )
    )


def softmax(b: Network, x: str) -> str:
    return b.rng.choice(
        (
            f"torch.softmax({x} * 2, -1)",
            f"torch.log_softmax({x}, -1)",
            f"torch.softmax({x}.float(), 1).to({x}.dtype)",
            f"{x} - torch.logsumexp({x}, -1, keepdim=True)",
            f"torch.softmax({x}, -1) * {b.input(b.shape(x)[-1])}",
            f"torch.sigmoid({x} - {x}.amax(-1, keepdim=True))",
        )
    )


def _heads(b: Network, x: str, heads: int, depth: int) -> str:
    batch, length, _ = b.shape(x)
    made = _linear(b, x, heads * depth)
    return b.let(f"{made}.view({batch}, {length}, {heads}, {depth}).transpose(1, 2)")


def _turned(b: Network, q: str) -> str:
    """With rotary positions, or normalised, or as it is."""
    length, depth = b.shape(q)[-2:]
    kind = b.rng.random()
    if kind < 0.2 and depth % 2 == 0:
        half = depth // 2
        cos, sin = b.input(length, depth), b.input(length, depth)
        turned = f"torch.cat([-{q}[..., {half}:], {q}[..., :{half}]], -1)"
        return b.let(f"{q} * {cos} + {turned} * {sin}")
    if kind < 0.35:
        return b.let(f"F.rms_norm({q}, [{depth}], {b.input(depth)}, 1e-6)")
    return q


def _mask(b: Network, batch: int, heads: int, queries: int, keys: int) -> str:
    """An expression for `attn_mask`, or an empty one; no row hides all keys."""
    return b.rng.choice(
        (
            "",
            "",
            "",
            f"torch.ones({queries}, {keys}, dtype=torch.bool, device=a0.device).tril(1)",
            f"({b.mask(batch, 1, 1, keys)} | (torch.arange({keys}, device=a0.device) == 0))",
            f"torch.ones({batch}, 1, {queries}, 1, dtype=torch.bool, device=a0.device)"
            f".expand(-1, -1, -1, {keys})",
            b.input(heads, queries, keys),
            b.input(batch, 1, queries, keys),
            b.input(1, heads, 1, keys),
            f"({b.input(queries, keys)}.float() * 0.5).to(a0.dtype)",
        )
    )


def attention(b: Network, x: str) -> str:
    """Of torch, or written out: over itself or other keys, of equal or grouped heads, masked or not."""
    rng = b.rng
    batch, length, _ = b.shape(x)
    heads, depth = rng.choice((1, 2, 4)), rng.choice(b.sizes.depths)
    q = _turned(b, _heads(b, x, heads, depth))
    other = b.let(f"{x}[:, ::2]") if rng.random() < 0.2 else x
    groups = rng.choice((1, heads, heads, heads))
    k, v = _turned(b, _heads(b, other, groups, depth)), _heads(b, other, groups, depth)
    keys = b.shape(other)[1]
    if rng.random() < 0.3:
        k, v = (b.let(f"{t}.repeat_interleave({heads // groups}, 1)") for t in (k, v))
        scores = b.let(f"({q} @ {k}.transpose(-1, -2)) * {depth**-0.5:.3g}")
        kind = rng.random()
        if kind < 0.3:
            hidden = f"torch.ones({length}, {keys}, dtype=torch.bool, device=a0.device).triu(1)"
            scores = b.let(f"{scores}.masked_fill({hidden}, float('-inf'))")
        elif kind < 0.5:
            scores = b.let(f"{scores} + {b.input(heads, length, keys)}")
        elif kind < 0.6:
            scores = b.let(f"10 * torch.tanh({scores} / 10)")
        weights = f"torch.softmax({scores}.float(), -1).to({x}.dtype)"
        made = b.let(f"{weights} @ {v}")
    else:
        named = rng.choice(("", "", f", scale={rng.choice((0.1, 0.5))}"))
        if groups != heads:
            named += ", enable_gqa=True"
        if mask := _mask(b, batch, heads, length, keys):
            named += f", attn_mask={mask}"
        elif rng.random() < 0.4:
            named += ", is_causal=True"
        made = b.let(f"F.scaled_dot_product_attention({q}, {k}, {v}{named})")
    joined = b.let(f"{made}.transpose(1, 2).reshape({batch}, {length}, {heads * depth})")
    return _linear(b, joined, b.shape(x)[-1])


def linear_attention(b: Network, x: str) -> str:
    width = b.rng.choice((8, 16, 32))
    q, k, v = (_linear(b, x, width) for _ in range(3))
    length = b.shape(x)[1]  # sums, squared in the gradient, would be infinite in f16
    state = b.let(f"torch.einsum('btd,bte->bde', F.elu({k}) + 1, {v} / {length})")
    over = b.let(f"torch.einsum('btd,bd->bt', F.elu({q}) + 1, (F.elu({k}) + 1).mean(1))")
    return f"torch.einsum('btd,bde->bte', F.elu({q}) + 1, {state}) / {over}.unsqueeze(-1)"


def ordered(b: Network, x: str) -> str:
    """Values in an order, or those that one finds; few are equal, whose order is anybody's."""
    last = b.shape(x)[-1]
    few = min(3, last)
    wide = b.let(f"{x}.float() + torch.linspace(0, 1, {last})")
    found = b.rng.choice(
        (
            f"{wide}.sort(-1).values",
            f"{wide}.topk({few}, -1).values",
            f"{wide}.cummax(-1).values",
            f"{x} * {wide}.max(-1, keepdim=True).values",
            f"{x} - {wide}.kthvalue({few}, -1, keepdim=True).values",
        )
    )
    return f"({found}).to({x}.dtype)"


def mixed_tokens(b: Network, x: str) -> str:
    length = b.shape(x)[1]
    turned = b.let(f"{x}.transpose(1, 2)")
    return f"{b.let(_activated(b, _linear(b, turned, length)))}.transpose(1, 2)"


def experts(b: Network, x: str) -> str:
    count, width = b.rng.choice((2, 4)), b.rng.choice((8, 16, 40))
    gate = b.let(f"torch.softmax({_linear(b, x, count)}, -1)")
    weight = b.weight(count, width, b.shape(x)[-1])
    if b.rng.random() < 0.5:
        best = b.let(f"{gate}.topk({count // 2}, -1)[0].sum(-1, keepdim=True)")
        gate = b.let(f"{gate} / {best}")
    return f"(torch.einsum('btd,efd->btef', {x}, {weight}) * {gate}.unsqueeze(-1)).sum(2)"


def moved_tokens(b: Network, x: str) -> str:
    batch, length, width = b.shape(x)
    return b.rng.choice(
        (
            f"torch.cat([{x}[:, :1], {x}[:, :-1]], 1) * {b.input(width)} + {x}",
            f"{x}.roll(1, 1) - {x}.flip(1)",
            f"{x}.cumsum(1) * {1 / length:.3g}",
            f"{x}[:, {b.places(max(1, length // 2), below=length)}]",
            f"torch.zeros_like({x}).index_add(1, {b.places(length, below=length)}, {x})",
            f"{x} * torch.sigmoid(F.linear({x}.mean(1, keepdim=True), {b.weight(width, width)}))",
            f"F.avg_pool1d({x}.transpose(1, 2), 3, 1, 1).transpose(1, 2)",
            f"{x} + F.embedding({b.places(length, below=50)}, {b.input(50, width)})",
            f"{x} - {x}.amax(1, keepdim=True)",
            f"torch.where({b.mask(batch, length, 1)}, {x}, {b.input(width)})",
            f"torch.lerp({x}, {x}.roll(-1, 1), {b.input(width)})",
            f"{x}.view({batch}, {length}, {width}, 1).expand(-1, -1, -1, 2).reshape({batch}, {length}, -1)",
        )
    )


def convolved_tokens(b: Network, x: str) -> str:
    width, made = b.shape(x)[-1], b.rng.choice((8, 16, 30))
    if b.rng.random() < 0.5:
        padded = f"F.pad({x}.transpose(1, 2), (2, 0))"
        called = f"F.conv1d({padded}, {b.weight(width, 1, 3)}, groups={width})"
    else:
        called = f"F.conv1d({x}.transpose(1, 2), {b.weight(made, width, 3)}, {b.input(made)}, padding=1)"
    return f"{b.let(_activated(b, called))}.transpose(1, 2)"


def recurrent(b: Network, x: str) -> str:
    """Three steps of a gated unit over the mean of the tokens."""
    width = b.shape(x)[-1]
    w, h = b.weight(2 * width, 2 * width), b.let(f"{x}.mean(1)")
    for step in range(3):
        token = f"{x}[:, {step % b.shape(x)[1]}]"
        gates = b.let(f"F.linear(torch.cat([{token}, {h}], -1), {w})")
        update = f"torch.sigmoid({gates}[:, :{width}])"
        h = b.let(f"{update} * {h} + (1 - {update}) * torch.tanh({gates}[:, {width}:])")
    return f"{x} * {h}.unsqueeze(1)"


TOKENS: tuple[Block, ...] = (
    linear,
    gated,
    feed_forward,
    norm,
    norm,
    softmax,
    attention,
    attention,
    attention,
    linear_attention,
    mixed_tokens,
    ordered,
    experts,
    moved_tokens,
    moved_tokens,
    convolved_tokens,
    recurrent,
)


# Of images, [batch, channels, height, width]


def convolution(b: Network, x: str) -> str:
    rng, channels = b.rng, b.shape(x)[1]
    groups = channels if rng.random() < 0.25 else 1
    made = channels * rng.choice((1, 2)) if groups > 1 else rng.choice((4, 8, 16, 24, 32))
    size = rng.choice((1, 1, 3, 3, 5))
    stride, dilation = rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2))
    bias = b.input(made) if rng.random() < 0.5 else "None"
    weight = b.weight(made, channels // groups, size, size)
    padding = size // 2 * dilation
    return _activated(b, b.let(f"F.conv2d({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups})"))


def transposed_convolution(b: Network, x: str) -> str:
    channels, made = b.shape(x)[1], b.rng.choice((4, 8, 16))
    size, stride = b.rng.choice(((2, 2), (3, 1), (4, 2)))
    bias = b.input(made) if b.rng.random() < 0.5 else "None"
    called = f"F.conv_transpose2d({x}, {b.weight(channels, made, size, size)}, {bias}, {stride})"
    return _activated(b, b.let(called))


def image_norm(b: Network, x: str) -> str:
    batch, channels, height, width = b.shape(x)
    w, bias = b.input(channels), b.input(channels)
    groups = b.rng.choice([n for n in (1, 2, 4, 8) if channels % n == 0])
    several = batch * height * width > 1
    return _activated(
        b,
        b.rng.choice(
            (
                f"F.group_norm({x}, {groups}, {w}, {bias})",
                f"F.batch_norm({x}, {bias}.detach(), {w}.detach().exp(), {w}, {bias}, False)",
                f"F.batch_norm({x}, None, None, {w}, {bias}, True)" if several else x,
                f"F.instance_norm({x})" if height * width > 1 else x,
                f"F.layer_norm({x}.permute(0, 2, 3, 1), [{channels}], {w}, {bias}).permute(0, 3, 1, 2)",
            )
        ),
    )


def pooled(b: Network, x: str) -> str:
    height, width = b.shape(x)[2:]
    if min(height, width) < 3:
        return f"{x} * 1.5"
    return b.rng.choice(
        (
            f"F.max_pool2d({x}, 2)",
            f"F.max_pool2d({x}, 3, 2, 1)",
            f"F.avg_pool2d({x}, 2)",
            f"F.avg_pool2d({x}, 3, 1, 1)",
            f"F.adaptive_avg_pool2d({x}, 3)",
            f"F.adaptive_max_pool2d({x}, (2, 3))",
            f"{x}.amax((2, 3), keepdim=True) + {x}",
        )
    )


def resized(b: Network, x: str) -> str:
    _, channels, height, width = b.shape(x)
    if channels * height * width > 8000:
        return f"{x} * 0.5"
    chosen = [
        f"F.interpolate({x}, scale_factor=2, mode='nearest')",
        f"F.interpolate({x}, scale_factor=2, mode='bilinear', align_corners=False)",
        f"F.interpolate({x}, size=(7, 9), mode='bilinear', align_corners=True)",
        f"F.pad({x}, (1, 2, 0, 1), mode='replicate')",
        f"F.pad({x}, (1, 0, 2, 1))",
    ]
    if channels % 4 == 0:
        chosen.append(f"F.pixel_shuffle({x}, 2)")
    if height % 2 == width % 2 == 0:
        chosen.append(f"F.pixel_unshuffle({x}, 2)")
    return b.rng.choice(chosen)


def excited(b: Network, x: str) -> str:
    """Squeeze and excitation."""
    channels = b.shape(x)[1]
    inner = max(1, channels // 4)
    squeezed = b.let(f"F.adaptive_avg_pool2d({x}, 1)")
    first = b.let(f"F.silu(F.conv2d({squeezed}, {b.weight(inner, channels, 1, 1)}, {b.input(inner)}))")
    return f"{x} * torch.sigmoid(F.conv2d({first}, {b.weight(channels, inner, 1, 1)}))"


def joined(b: Network, x: str) -> str:
    channels = b.shape(x)[1]
    half = b.let(f"{x}[:, : {max(1, channels // 2)}]")
    made = b.let(convolution(b, half))
    if b.shape(made)[2:] != b.shape(x)[2:]:
        return made
    return f"torch.cat([{made}, {x}], 1)"


def flattened(b: Network, x: str) -> str:
    """Patches as tokens, from here on."""
    batch, channels, height, width = b.shape(x)
    if height % 4 == width % 4 == 0 and b.rng.random() < 0.5:
        cut = f"{x}.view({batch}, {channels}, {height // 4}, 4, {width // 4}, 4).permute(0, 2, 4, 3, 5, 1)"
        return f"{cut}.reshape({batch}, -1, {16 * channels})"
    return f"{x}.flatten(2).transpose(1, 2)"


IMAGES: tuple[Block, ...] = (
    convolution,
    convolution,
    convolution,
    transposed_convolution,
    image_norm,
    image_norm,
    pooled,
    resized,
    excited,
    joined,
    flattened,
)
