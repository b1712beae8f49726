"""Small graphs as models have them: a few operations that belong together, for `benchmarks.small`."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.small_cases import Small, cases


def _pairs_rotated(x: Tensor, sine: Tensor, cosine: Tensor) -> Tensor:
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cosine + turned * sine


def _halves_rotated(x: Tensor, sine: Tensor, cosine: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine


def _complex_rotated(x: Tensor, by: Tensor) -> Tensor:
    points = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    factors = torch.view_as_complex(by.reshape(by.shape[0], 1, -1, 2))
    return torch.view_as_real(points * factors).flatten(3)


def _positions() -> list[Small]:
    return [
        *cases("rotate pairs", _pairs_rotated, ("2x128x16x64xf32", "128x1x64xf32", "128x1x64xf32")),
        *cases("rotate pairs", _pairs_rotated, ("2x128x16x64xbf16", "128x1x64xbf16", "128x1x64xbf16")),
        *cases("rotate halves", _halves_rotated, ("2x12x128x64xf32", "128x64xf32", "128x64xf32")),
        *cases("rotate complex", _complex_rotated, ("2x128x12x64xf32", "128x64xf32")),
        *cases("position ids", lambda m: (m.cumsum(-1) * m) + 1, ("8x512xi64@2",)),
        *cases(
            "relative bias",
            lambda s, table, at: s + table[at.view(-1)].view(49, 49, -1).permute(2, 0, 1),
            ("8x3x49x49xf32", "169x3xf32", "49x49xi64@169"),
        ),
    ]


def _windows(x: Tensor) -> Tensor:
    b, h, w, c = x.shape
    moved = x.roll((-3, -3), (1, 2)).view(b, h // 7, 7, w // 7, 7, c)
    return moved.permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c) * 1.5


def _patches(x: Tensor) -> Tensor:
    return x.reshape(2, 3, 14, 16, 14, 16).permute(0, 2, 4, 3, 5, 1).reshape(2, 196, 768) * 2


def _images() -> list[Small]:
    return [
        *cases("shifted windows", _windows, ("2x56x56x96xf32",)),
        *cases("pixel shuffle", lambda x: F.pixel_shuffle(x, 2).relu(), ("2x64x56x56xf32",)),
        *cases("pixel unshuffle", lambda x: F.pixel_unshuffle(x, 2).relu(), ("2x16x112x112xf32",)),
        *cases("patches", _patches, ("2x3x224x224xf32",)),
        *cases(
            "channel shuffle",
            lambda x: x.view(2, 4, 29, 28, 28).transpose(1, 2).reshape(2, 116, 28, 28) + 1,
            ("2x116x28x28xf32",),
        ),
        *cases(
            "nearest and add",
            lambda x, y: F.interpolate(x, scale_factor=2.0) + y,
            ("2x64x28x28xf32", "2x64x56x56xf32"),
        ),
        *cases(
            "squeeze and excite",
            lambda x, s: x * s.sigmoid()[:, :, None, None] + x.mean((2, 3), keepdim=True),
            ("4x64x56x56xf32", "4x64xf32"),
        ),
        *cases(
            "channels normed",
            lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), (96,), w, b).permute(0, 3, 1, 2).contiguous(),
            ("2x96x56x56xf32", "96xf32", "96xf32"),
        ),
        *cases(
            "total variation",
            lambda x: x.diff(dim=-1).abs().mean() + x.diff(dim=-2).abs().mean(),
            ("2x3x224x224xf32",),
        ),
    ]


def _smoothed(x: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(x, target, label_smoothing=0.1)


def _focal(x: Tensor, target: Tensor) -> Tensor:
    loss = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    return ((1 - torch.exp(-loss)) ** 2 * loss).mean()


def _distances(x: Tensor, y: Tensor) -> Tensor:
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def _losses() -> list[Small]:
    logits = ("256x1000xf32", "256x1000xf32")
    return [
        *cases("label smoothing", _smoothed, ("256x1000xf32", "256xi64@1000")),
        *cases("focal", _focal, ("1024x80xf32",) * 2),
        *cases("divergence", lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1)), logits),
        *cases("cosine", lambda x, y: F.cosine_similarity(x, y, dim=-1), ("1024x512xf32",) * 2),
        *cases("distances", _distances, ("128x64xf32", "256x64xf32")),
        *cases("both ways", lambda x: x.logsumexp(0) + x.logsumexp(1), ("1024x1024xf32",)),
    ]


def _adam(p: Tensor, g: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    m, v = m * 0.9 + g * 0.1, v.abs() * 0.999 + g * g * 0.001
    return p - 1e-3 * m / (v.sqrt() + 1e-8), m, v


def _scaled_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale).round().clamp(-127, 127).to(torch.int8), scale


def _lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    i, f, o, n = gates.chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * n.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _state_step(state: Tensor, dt: Tensor, decay: Tensor, b: Tensor, x: Tensor) -> Tensor:
    kept = state * torch.exp(dt[..., None] * -decay.abs()) + (dt * x)[..., None] * b[:, None]
    return torch.einsum("bdn,bn->bd", kept, b)


def _slopes(x: Tensor, slope: Tensor) -> Tensor:
    at = torch.arange(x.shape[-1])
    hidden = torch.full((x.shape[-1],) * 2, -torch.inf).triu(1)
    return (x + slope[:, None, None] * (at[None] - at[:, None]).abs() + hidden).softmax(-1)


def _steps() -> list[Small]:
    hidden = ("512x768xf32", "512x768xf32", "768xf32")
    masked = ("2x12x128x128xf32", "2x1x128x128xi1")
    embedded = ("4x128xi64@5000", "5000x768xf32", "128x768xf32", "768xf32", "768xf32")
    return [
        *cases("add and norm", lambda x, r, w: F.rms_norm(x + r, (768,), w), hidden),
        *cases("embed and norm", lambda t, e, p, w, b: F.layer_norm(e[t] + p, (768,), w, b), embedded),
        *cases("gated gelu", lambda x: F.gelu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], ("512x4096xf32",)),
        *cases("masked softmax", lambda x, m: (x.masked_fill(m, -1e9) / 8).softmax(-1), masked),
        *cases("slopes softmax", _slopes, ("12x128x128xf32", "12xf32")),
        *cases(
            "masked mean",
            lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True),
            ("8x128x768xf32", "8x128xf32"),
        ),
        *cases(
            "batch norm",
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            ("8x64x28x28xf32", "64xf32", "64xf32"),
        ),
        *cases("lstm cell", _lstm_cell, ("64x2048xf32", "64x512xf32")),
        *cases(
            "state step",
            _state_step,
            ("4x1536x16xf32", "4x1536xf32", "1536x16xf32", "4x16xf32", "4x1536xf32"),
        ),
        *cases("routing", lambda x: x.softmax(-1).topk(2, -1), ("1024x8xf32",)),
        *cases("adam", _adam, ("512x512xf32",) * 4),
        *cases("quantize rows", _scaled_bytes, ("512x1024xf32",)),
        *cases("dequantize rows", lambda q, s: q.float() * s, ("512x1024xi8", "512x1xf32")),
    ]


def blocks() -> list[Small]:
    """The family."""
    return [*_positions(), *_images(), *_losses(), *_steps()]
