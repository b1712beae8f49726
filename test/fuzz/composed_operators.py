"""Operators of random compositions, as text by family, and what stands for the names in their braces.

`{x}` is the value; `{dim}`, `{dim2}` axes of it, the second perhaps the same; `{n}` the size of the first.
`{w}` is an input that is broadcast to it, `{same}` one of its shape, `{mask}` one of booleans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod

from bodies import Body

_ROWS = (
    "F.layer_norm({x}, {x}.shape[{dim}:])",
    "{x} * torch.rsqrt({x}.square().mean({dim}, keepdim=True) + 1e-5)",
    "{x}.softmax({dim})",
    "{x}.log_softmax({dim})",
    "{x} - {x}.mean({dim}, keepdim=True)",
    "{x} - {x}.amax({dim}, keepdim=True)",
    "F.normalize({x}, dim={dim})",
    "{x} / ({x}.var({dim}, keepdim=True, correction=0) + 1)",
    "{x} / ({x}.abs().amax() + 1)",
    "{x} - {x}.mean()",
    "{x} - torch.logsumexp({x}, {dim}, keepdim=True)",
    "{x} + {x}.sum(({dim}, {dim2}), keepdim=True) * 0.01 if {dim} != {dim2} else {x}.sum({dim}) * 0.1",
    "{x} * (1 + {x} * 0.01).prod({dim}, keepdim=True)",
    "{x}.sum({dim}, keepdim=True) * 0.1",
    "{x}.mean({dim})",
    "{x}.amin({dim}) * 0.5",
    "{x} * torch.linalg.vector_norm({x}, {p}, {dim}, keepdim=True) * 0.1",
    "torch.softmax({x}.float(), {dim}).to({x}.dtype) * {w}",
    "F.rms_norm({x}, {x}.shape[{dim}:]) + {w}",
    "torch.std_mean({x}, {dim}, correction=0, keepdim=True)[1] + {x}",
)
_ORDERS = (
    "{x}.cumsum({dim}) / {n}",
    "({x} * 0.1 + 1).cumprod({dim}).clamp(-3, 3)",
    "{x}.cummax({dim}).values",
    "{x}.cummin({dim}).values * {w}",
    "{x}.logcumsumexp({dim}) * 0.2",
    "{x}.sort({dim}).values",
    "{x}.sort({dim}, descending=True).values",
    "{x}.topk(({n} + 1) // 2, {dim}).values",
    "{x}.kthvalue(({n} + 1) // 2, {dim}, keepdim=True).values + {x}",
    "{x}.median({dim}).values",
    "{x}.flip({dim}).cumsum({dim}).flip({dim}) / {n}",
    "{x}.aminmax(dim={dim}, keepdim=True).max - {x}",
)
_POINTS = (
    "F.gelu({x})",
    "{x}.relu()",
    "{x}.square() * 0.5",
    "{x}.abs()",
    "{x}.sigmoid()",
    "torch.tanh({x} * {w})",
    "F.silu({x}) * {same}",
    "torch.where({mask}, {x}, {w})",
    "{x}.masked_fill({mask}, 0.25)",
    "torch.where({x} > 0, {x}, {x} * 0.5)",
    "{x}.clamp(-1, 0.5)",
    "{x} * {w} + {w2}",
    "torch.addcmul({x}, {w}, {same}, value=0.5)",
    "torch.lerp({x}, {same}, {w})",
    "{x} / ({w}.square() + 1)",
    "torch.hypot({x}, {w})",
    "torch.exp(-{x}.abs())",
    "{x}.to(torch.{half}).to({x}.dtype)",
    "({x}.float() * 1.5).to({x}.dtype)",
    "torch.atan2({x}, {same}.abs() + 1)",
    "F.softplus({x}) - 0.5",
    "{x} + {mask}",
    "{x} * ({mask} & ~{mask2}).to({x}.dtype)",
)
_VIEWS = (
    "{x}.transpose({dim}, {dim2})",
    "{x}.transpose({dim}, {dim2}).contiguous()",
    "{x}.movedim({dim}, {dim2}) * 1",
    "{x}.flip({dim})",
    "{x}.flip(({dim}, {dim2})) if {dim} != {dim2} else {x}.flip(0)",
    "{x}.roll(3, {dim})",
    "{x}.narrow({dim}, 0, ({n} + 1) // 2)",
    "{x}.narrow({dim}, {n} // 2, {n} - {n} // 2)",
    "{x}[..., 1:]",
    "{x}[..., ::2]",
    "{x}[1::3]",
    "{x}.select({dim}, {n} // 2)",
    "{x}.unsqueeze({dim})",
    "{x}.flatten()",
    "{x}.flatten({dim})",
    "{x}.reshape(-1, 2)",
    "{x}.reshape(2, -1)",
    "{x}.reshape(4, -1, 3)",
    "{x}.unflatten({dim}, (-1, 2))",
    "{x}.unflatten({dim}, (4, -1)).transpose({dim}, {dim} + 1)",
    "{x}.unsqueeze({dim}).expand({thrice}).flatten({dim}, {dim} + 1)",
    "{x}.repeat_interleave(2, {dim})",
    "{x}.tile(2)",
    "torch.cat([{x}, {x} * 0.5], {dim})",
    "torch.cat([{x}.narrow({dim}, {n} // 2, {n} - {n} // 2), -{x}.narrow({dim}, 0, {n} // 2)], {dim})",
    "torch.cat([{x}, {same}, {x}.flip({dim})], {dim})",
    "torch.stack([{x}, {same}], {dim})",
    "{x}.tril()",
    "{x}.triu(1) + {x}",
    "{x}.diagonal(0, {dim}, {dim2})",
    "torch.diag_embed({x})",
    "{x}.unfold({dim}, 2, 1)",
    "{x}.unfold({dim}, 3, 2).mean(-1)",
    "F.pad({x}, (1, 2))",
    "F.pad({x}, (0, 0, 2, 1), value=0.5)",
    "F.pad({x}, (-1, 2))",
    "{x}.chunk(2, {dim})[0] * {x}.chunk(2, {dim})[1]",
    "torch.diff({x}, dim={dim})",
    "{x}.rot90(1, ({dim}, {dim2}))",
)
_PLACES = (
    "{x}.index_select({dim}, {places})",
    "{x}[{places0}]",
    "{x}[:, {places1}]",
    "{x}[..., {places_last}, None]",
    "{x}[{places0}, {places1}]",
    "{x}.gather({dim}, {indices})",
    "{x}.take_along_dim({x}.argsort({dim}), {dim})",
    "torch.zeros_like({x}).scatter_add({dim}, {indices}, {x})",
    "{x}.scatter({dim}, {indices}, 0.5)",
    "{x}.scatter_reduce({dim}, {indices}, {same}, 'amax')",
    "{x}.scatter_reduce({dim}, {indices}, {same}, 'mean')",
    "{x}.index_add({dim}, {places}, {x}.index_select({dim}, {places}), alpha=0.5)",
    "{x}.index_copy({dim}, torch.arange({n}).flip(0), {same})",
    "{x}.index_put(({places0},), {x}[:1] * 0.5, accumulate=True)",
    "{x}.index_fill({dim}, {places}, 0.5)",
    "F.embedding({places0}, {x})",
    "F.embedding({indices} % 7, {table})",
    "torch.zeros(7, {last}).to({x}.dtype).index_add(0, {segments}, {x}.reshape(-1, {last}))",
    "F.one_hot({indices}, {n}).sum({dim}).to({x}.dtype)",
    "torch.bucketize({x}.float(), torch.tensor([-1.0, 0.0, 0.5])).to({x}.dtype) * {x}",
)
_WRITES = (
    "{x}.clone().mul_(0.5).add_({w})",
    "{x}.clone().index_fill_({dim}, {places}, 0.0)",
    "torch.empty_like({x}).copy_({w})",
    "torch.zeros_like({x}).copy_({x}).masked_fill_({mask}, 1.0)",
    "torch.select_scatter({x}, {x}.select({dim}, -1) * 0.5, {dim}, 0)",
    "torch.slice_scatter({x}, {x}.narrow({dim}, 0, 1) * 0.5, {dim}, {n} // 2, {n} // 2 + 1)",
    "{x}.new_zeros({x}.shape).add_({x}, alpha=0.5)",
    "{x}.masked_scatter({mask}, {same})",
)
_PRODUCTS = (
    "({x} @ {x}.mT) * 0.05",
    "({x}.mT @ {x}) * 0.02",
    "F.linear({x}, {weight})",
    "F.linear({x}, {weight}, {bias}).relu()",
    "F.gelu(F.linear({x}, {weight}, {bias}), approximate='tanh')",
    "({x} @ {x}.mT * 0.1).softmax(-1) @ {x}",
    "({x} @ {vector}) * 0.2",
    "torch.einsum('...i,...j->...ij', {x}, {w}.expand({x}.shape)) * 0.3",
    "({x}.unsqueeze(-2) @ {weight}.mT).squeeze(-2)",
    "torch.cdist({x}, {x}[..., :2, :]) * 0.1",
    "F.linear({x}, {weight}).sum(-1, keepdim=True) * 0.05 + {x}",
    "F.silu(F.linear({x}, {weight})) * F.linear({x}, {weight2})",
    "F.scaled_dot_product_attention({x}, {same}, {x})",
    "F.scaled_dot_product_attention({x}, {x}, {same}, is_causal=True)",
    "torch.addmm({bias}, {x}, {weight}.mT, alpha=0.5)",
    "torch.tensordot({x}, {same}, dims=([{dim}], [{dim}])) * 0.05",
)
_WINDOWS = (
    "F.avg_pool1d({x}, 3, 2, 1)",
    "F.max_pool1d({x}, 2)",
    "F.max_pool2d({x}, 3, 2, 1)",
    "F.avg_pool2d({x}, 2, ceil_mode=True)",
    "F.adaptive_avg_pool2d({x}, (3, 2))",
    "F.interpolate({x}, scale_factor=2, mode='nearest')",
    "F.interpolate({x}, size=(7, 5), mode='bilinear')",
    "F.pad({x}, (2, 1), mode='reflect')",
    "F.pad({x}, (1, 1, 0, 2), mode='replicate')",
    "F.pad({x}, (1, 2), mode='circular')",
    "F.conv1d({x}, {filter1}, padding=1)",
    "F.conv2d({x}, {filter2}, {filters}, padding=1)",
    "F.group_norm({x}, 1, {channels})",
    "F.batch_norm({x}, None, None, {channels}, {channels2}, True)",
    "F.instance_norm({x})",
    "F.pixel_shuffle({x}, 2)",
    "F.channel_shuffle({x}, 2)",
    "F.glu({x}, {dim})",
)
OPERATORS: Sequence[tuple[int, Sequence[str]]] = (
    (8, _ROWS),
    (3, _ORDERS),
    (5, _POINTS),
    (7, _VIEWS),
    (4, _PLACES),
    (2, _WRITES),
    (4, _PRODUCTS),
    (2, _WINDOWS),
)
"""Weight, templates."""


class Choices(dict[str, object]):
    """What stands for the names in the braces of templates on `x`; inputs are made when they are named."""

    def __init__(self, body: Body, x: str, same: Sequence[str]) -> None:
        super().__init__()
        rng, shape = body.rng, body.shape(x)
        axis = rng.randrange(len(shape)) if shape else 0
        out, filters = rng.choice((1, 8, 16, 33, 64)), rng.choice((4, 8))
        count, size, last = rng.choice((1, 3, 7, 40)), shape[axis] if shape else 1, shape[-1] if shape else 1
        self.update(
            x=x,
            dim=axis,
            dim2=rng.randrange(len(shape)) if shape else 0,
            n=f"{x}.shape[{axis}]",
            last=f"{x}.shape[-1]",
            p=rng.choice((1, 2, 3, "float('inf')")),
            half=rng.choice(("bfloat16", "float16")),
            thrice=", ".join("3" if i == axis else "-1" for i in range(len(shape) + 1)),
        )
        self._makers: dict[str, Callable[[], str]] = {
            "same": lambda: rng.choice(same) if same and rng.random() < 0.5 else body.input(*shape),
            "w": lambda: body.input(*_broadcast(rng, shape)),
            "w2": lambda: body.input(*_broadcast(rng, shape)),
            "mask": lambda: body.mask(*_broadcast(rng, shape)),
            "mask2": lambda: body.mask(*_broadcast(rng, shape)),
            "weight": lambda: body.weight(out, last),
            "weight2": lambda: body.weight(out, last),
            "bias": lambda: body.input(out),
            "vector": lambda: body.input(last),
            "table": lambda: body.input(7, rng.choice((1, 16, 40))),
            "channels": lambda: body.input(shape[1]),
            "channels2": lambda: body.input(shape[1]),
            "filter1": lambda: body.weight(filters, shape[1], 3),
            "filter2": lambda: body.weight(filters, shape[1], 3, 3),
            "filters": lambda: body.input(filters),
            "places": lambda: body.places(count, below=size),
            "places0": lambda: body.places(count, below=shape[0]),
            "places1": lambda: body.places(count, below=shape[1]),
            "places_last": lambda: body.places(count, below=last),
            "indices": lambda: body.places(*shape, below=size),
            "segments": lambda: body.places(prod(shape[:-1]), below=7),
        }

    def __missing__(self, name: str) -> object:
        self[name] = made = self._makers[name]()
        return made


def _broadcast(rng: random.Random, shape: Sequence[int]) -> list[int]:
    """A shape that is broadcast to this one."""
    kept = shape[rng.choice((0, 0, 0, *range(len(shape) + 1))) :]
    return [1 if rng.random() < 0.3 else size for size in kept]
