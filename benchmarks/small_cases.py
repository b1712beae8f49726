"""Small graphs of one kind of operation each: the cases of `benchmarks.small`.

A case is a function and the tensors it is called with, as text: `64x100xf32`, with a range of
values after `@` for integers (`1000xi64@50`). A product is a chain, so that what a call costs
by itself does not hide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

DTYPES: Mapping[str, torch.dtype] = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "i1": torch.bool,
}


@dataclass(frozen=True)
class Small:
    """One graph: `make` gives what is called, a function or a module."""

    name: str
    make: Callable[[], Callable[..., Any]]
    inputs: tuple[str, ...]

    def tensors(self) -> list[Tensor]:
        """Inputs of fixed random values."""
        generator = torch.Generator().manual_seed(0)
        return [tensor(text, generator) for text in self.inputs]


def tensor(text: str, generator: torch.Generator) -> Tensor:
    """The tensor that a text describes."""
    text, _, limit = text.partition("@")
    *sizes, element = text.split("x")
    shape, dtype = [int(size) for size in sizes], DTYPES[element]
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    high = int(limit or (2 if element == "i1" else 100))
    return torch.randint(0, high, shape, generator=generator).to(dtype)


def _function(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    return lambda: function


def cases(name: str, function: Callable[..., Any], *inputs: tuple[str, ...]) -> list[Small]:
    """A case for each list of inputs, by whose shapes it is called."""
    return [Small(f"{name} {' '.join(ins)}", _function(function), ins) for ins in inputs]


def _positions_of_maxima(x: Tensor) -> Any:
    return F.max_pool2d(x, 3, 2, 1, return_indices=True)


_WIDE, _TALL, _CUBE = ("256x4096xf32",), ("4096x64xf32",), ("32x64x128xf32",)
_HALVES = ("256x4096xbf16",)


def _reductions() -> list[Small]:
    return [
        *cases("argmax last", lambda x: x.argmax(-1), _WIDE, ("64x37xf32",), ("4096x16xf32",), _HALVES),
        *cases("argmin first", lambda x: x.argmin(0), _TALL, ("64x1000xf32",)),
        *cases("argmax all", lambda x: x.argmax(), ("100000xf32",)),
        *cases("argmax middle", lambda x: x.argmax(1), _CUBE, ("4x21x64x64xf32",)),
        *cases("max with index", lambda x: x.max(-1), _WIDE, _TALL),
        *cases("amax last", lambda x: x.amax(-1), _WIDE, ("4096x9xf32",), _HALVES),
        *cases("amax first", lambda x: x.amax(0), _TALL),
        *cases("amax middle", lambda x: x.amax(1), _CUBE),
        *cases("sum last", lambda x: x.sum(-1), _WIDE, ("4096x9xf32",), _HALVES, ("256x4096xi64",)),
        *cases("sum first", lambda x: x.sum(0), _TALL, ("4096x7xf32",)),
        *cases("sum outer and inner", lambda x: x.sum((0, 2)), _CUBE),
        *cases("mean", lambda x: x.mean(), ("100000xf32",)),
        *cases("any", lambda x: (x > 3).any(-1), _WIDE, _TALL),
        *cases("all", lambda x: x.all(), ("100000xi1",)),
        *cases("count", lambda x: (x > 0).sum(), ("100000xf32",)),
        *cases("var last", lambda x: x.var(-1), _WIDE, ("4096x32xf32",)),
        *cases("std first", lambda x: x.std(0), _TALL),
        *cases("norm", lambda x: torch.linalg.vector_norm(x, dim=-1), _WIDE),
        *cases("logsumexp", lambda x: x.logsumexp(-1), _WIDE, ("4096x32xf32",)),
        *cases("prod", lambda x: x.prod(-1), ("4096x32xf32",)),
        *cases("cumsum last", lambda x: x.cumsum(-1), _WIDE, ("4096x32xf32",)),
        *cases("cumsum first", lambda x: x.cumsum(0), _TALL),
        *cases("cumprod last", lambda x: x.cumprod(-1), _WIDE, ("4096x32xf32",)),
        *cases("cummax last", lambda x: x.cummax(-1), ("4096x32xf32",), ("2048x64xf32",)),
        *cases("cummin first", lambda x: x.cummin(0), _TALL),
    ]


def _normed(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], w, b)


def _norms() -> list[Small]:
    return [
        *cases("softmax last", lambda x: x.softmax(-1), _WIDE, ("4096x32xf32",), ("4096x9xf32",), _HALVES),
        *cases("softmax first", lambda x: x.softmax(0), _TALL),
        *cases("softmax middle", lambda x: x.softmax(1), _CUBE, ("4x21x64x64xf32",)),
        *cases("log_softmax", lambda x: x.log_softmax(-1), ("64x1000xf32",)),
        *cases("cross entropy", F.cross_entropy, ("256x1000xf32", "256xi64@1000")),
        *cases("layer norm", _normed, ("4096x32xf32", "32xf32", "32xf32")),
        *cases("layer norm", _normed, ("512x768xf32", "768xf32", "768xf32")),
        *cases("layer norm", _normed, ("512x768xbf16", "768xbf16", "768xbf16")),
        *cases("rms norm", lambda x, w: F.rms_norm(x, x.shape[-1:], w), ("512x768xf32", "768xf32")),
        *cases(
            "group norm", lambda x, w, b: F.group_norm(x, 8, w, b), ("4x64x28x28xf32", "64xf32", "64xf32")
        ),
        *cases("instance norm", F.instance_norm, ("4x32x28x28xf32",)),
        *cases("normalize", lambda x: F.normalize(x, dim=1), ("512x768xf32",), ("4x64x28x28xf32",)),
    ]


def _elementwise() -> list[Small]:
    return [
        *cases("gelu", lambda x: F.gelu(x), _WIDE, _HALVES),
        *cases("tanh gelu", lambda x: F.gelu(x, approximate="tanh"), _WIDE),
        *cases("silu mul", lambda x, y: F.silu(x) * y, _WIDE * 2, _HALVES * 2),
        *cases(
            "where", lambda c, x, y: torch.where(c, x * 2, y), ("256x4096xi1", "256x4096xf32", "4096xf32")
        ),
        *cases(
            "clamps",
            lambda x, y, z: (x + y).clamp(-1, 1).where(z > 0, x),
            ("64x32x512xf32", "32x1xf32", "512xf32"),
        ),
        *cases("outer sum", lambda x, y: x[:, None] + y[None] * 2, ("1000xf32", "1000xf32")),
        *cases("integers", lambda x, y: (x + y) * 2 - x, ("256x4096xi64",) * 2, ("256x4096xi32",) * 2),
        *cases("bytes", lambda x, y: (x + y) ^ x, ("256x4096xui8",) * 2, ("256x4096xi8",) * 2),
        *cases("logic", lambda x, y: (x & y) | ~x, ("256x4096xi1",) * 2),
        *cases("pixels", lambda x: (x.float() / 255 - 0.5) / 0.25, ("3x256x256xui8",)),
        *cases("quantize", lambda x: (x * 10).round().clamp(-128, 127).to(torch.int8), _WIDE),
        *cases("division", lambda x, y: x // (y + 1), ("64x4096xi64",) * 2),
        *cases("remainder", lambda x: x % 7, ("64x4096xi64",), ("64x4096xf32",)),
        *cases("power", lambda x: x.abs() ** 1.7, ("64x4096xf32",)),
        *cases("sin cos", lambda x: x.sin() + x.cos(), ("64x4096xf32",)),
        *cases("erf", lambda x: x.erf(), ("64x4096xf32",)),
        *cases("log1p exp", lambda x: x.exp().log1p(), ("64x4096xf32",)),
        *cases("casts", lambda x: x.to(torch.bfloat16).to(torch.float32) + 1, _WIDE),
    ]


def _movement() -> list[Small]:
    return [
        *cases(
            "transpose add", lambda x, y: x.t() + y, ("1000x1000xf32",) * 2, ("1024x512xf32", "512x1024xf32")
        ),
        *cases("transpose bf16", lambda x: x.t().contiguous() * 2, ("1000x1000xbf16",)),
        *cases("transpose bytes", lambda x: x.t() + 1, ("1000x1000xui8",)),
        *cases("permute heads", lambda x: x.permute(0, 2, 1, 3).contiguous(), ("4x128x12x64xf32",)),
        *cases("channels last", lambda x: x.permute(0, 2, 3, 1) * 2.0 + 1, ("4x64x56x56xf32",)),
        *cases("channels last 3", lambda x: (x.permute(0, 3, 1, 2) * 2.0).contiguous(), ("4x128x128x3xf32",)),
        *cases("pixel shuffle", lambda x: F.pixel_shuffle(x, 2), ("4x64x28x28xf32",)),
        *cases("cat last", lambda x, y: torch.cat([x, y * 2], -1), ("512x100xf32", "512x60xf32")),
        *cases("cat first", lambda x, y: torch.cat([x, y * 2]), ("256x1000xf32",) * 2),
        *cases("stack", lambda x, y: torch.stack([x, y], -1), ("256x1000xf32",) * 2),
        *cases("pad", lambda x: F.pad(x, (1, 1, 1, 1)) + 1, ("4x64x56x56xf32",)),
        *cases("pad reflect", lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), ("4x16x56x56xf32",)),
        *cases("roll", lambda x: x.roll((3, 3), (1, 2)), ("4x56x56x32xf32",)),
        *cases("flip", lambda x: x.flip(-1), _WIDE),
        *cases("rotate half", lambda x: torch.cat([-x[..., 32:], x[..., :32]], -1), ("4x12x128x64xf32",)),
        *cases("triu", lambda x: x.triu(1), ("512x512xf32",)),
        *cases("repeat", lambda x: x.repeat_interleave(4, 1), ("4x8x128x64xf32",)),
        *cases("unfold", lambda x: F.unfold(x, 3, padding=1), ("2x16x28x28xf32",)),
        *cases("embedding", lambda w, i: F.embedding(i, w), ("5000x256xf32", "512xi64@5000")),
        *cases("embedding thin", lambda w, i: F.embedding(i, w), ("5000x16xf32", "4096xi64@5000")),
        *cases("embedding bag", lambda w, i: F.embedding(i, w).sum(1), ("5000x64xf32", "256x20xi64@5000")),
        *cases("gather", lambda x, i: x.gather(1, i), ("256x1000xf32", "256x100xi64@1000")),
        *cases(
            "index add", lambda x, i, y: x.index_add(0, i, y), ("500x64xf32", "2000xi64@500", "2000x64xf32")
        ),
        *cases(
            "cache",
            lambda c, i, k: c.index_copy_(2, i, k).sum(2),
            ("8x8x512x64xf32", "1xi64@512", "8x8x1x64xf32"),
        ),
        *cases("one hot", lambda i: F.one_hot(i, 100).float(), ("1000xi64@100",)),
        *cases("topk", lambda x: x.topk(5), ("256x1000xf32",)),
        *cases("sort", lambda x: x.sort(-1)[0] * 2, ("64x1000xf32",)),
    ]


def _images() -> list[Small]:
    image, halves = ("2x32x56x56xf32",), ("2x32x56x56xbf16",)

    def scaled(mode: str) -> Callable[[Tensor], Tensor]:
        return lambda x: F.interpolate(x, scale_factor=2.0, mode=mode)

    return [
        *cases("nearest", scaled("nearest"), image, halves),
        *cases("bilinear", scaled("bilinear"), image),
        *cases("bicubic", scaled("bicubic"), ("2x16x28x28xf32",)),
        *cases("max pool 2", lambda x: F.max_pool2d(x, 2), image, halves),
        *cases("max pool 3", lambda x: F.max_pool2d(x, 3, 2, 1), image),
        *cases("max pool 3 with positions", _positions_of_maxima, image, ("2x64x112x112xf32",)),
        *cases(
            "max pool 3 gradient",
            lambda g, x, i: torch.ops.aten.max_pool2d_with_indices_backward(
                g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, i
            ),
            ("2x32x28x28xf32", "2x32x56x56xf32", "2x32x28x28xi64@3136"),
            ("2x64x56x56xf32", "2x64x112x112xf32", "2x64x56x56xi64@12544"),
        ),
        *cases("avg pool", lambda x: F.avg_pool2d(x, 3, 1, 1), image),
        *cases("avg pool inside", lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), image),
        *cases("adaptive max pool", lambda x: F.adaptive_max_pool2d(x, 7), image),
        *cases("max pool 3d", lambda x: F.max_pool3d(x, 3, 2, 1), ("2x16x16x28x28xf32",)),
        *cases("avg pool 3d", lambda x: F.avg_pool3d(x, 2), ("2x16x16x28x28xf32",)),
        *cases("global pool", lambda x: F.adaptive_avg_pool2d(x, 1), image),
        *cases("pool 7", lambda x: F.adaptive_avg_pool2d(x, 7), ("2x32x64x64xf32",)),
    ]


def _convolution(name: str, image: str, *args: int, groups: int = 1) -> Small:
    def make() -> nn.Module:
        torch.manual_seed(0)
        dtype = DTYPES[image.split("x")[-1]]
        return nn.Conv2d(*args, groups=groups).to(dtype).eval()  # pyright: ignore[reportArgumentType]

    return Small(f"{name} {image}", make, (image,))


def _convolutions() -> list[Small]:
    return [
        found
        for dtype in ("f32", "bf16")
        for found in (
            _convolution("stem 7x7", f"1x3x224x224x{dtype}", 3, 64, 7, 2, 3),
            _convolution("stem 3x3", f"1x3x112x112x{dtype}", 3, 32, 3, 2, 1),
            _convolution("patches", f"1x3x224x224x{dtype}", 3, 96, 4, 4),
            _convolution("3x3", f"1x64x28x28x{dtype}", 64, 64, 3, 1, 1),
            _convolution("1x1", f"1x64x28x28x{dtype}", 64, 128, 1),
            _convolution("3x3 to 10", f"1x32x28x28x{dtype}", 32, 10, 3, 1, 1),
            _convolution("depthwise 3x3", f"1x96x56x56x{dtype}", 96, 96, 3, 1, 1, groups=96),
            _convolution("depthwise 7x7", f"1x96x56x56x{dtype}", 96, 96, 7, 1, 3, groups=96),
        )
    ]


PRODUCTS = (
    # rows, depth, columns: of ordinary layers, of small ones, and odd
    *((1, 64, 64), (1, 100, 60), (1, 512, 512), (1, 300, 10), (2, 128, 128), (3, 77, 33)),
    *((8, 16, 16), (8, 100, 60), (16, 33, 33), (32, 10, 10), (32, 64, 256), (64, 100, 60)),
    *((64, 100, 17), (64, 128, 128), (64, 512, 40), (100, 50, 200), (128, 31, 65), (128, 256, 256)),
    *((256, 7, 9), (256, 64, 24), (300, 300, 300), (512, 512, 512), (512, 16, 64), (512, 100, 1)),
)


class _Layers(nn.Module):
    """Products to and fro, so that each has the shape asked for or its mirror image."""

    def __init__(self, depth: int, columns: int, count: int) -> None:
        super().__init__()
        self.there = nn.ModuleList(nn.Linear(depth, columns) for _ in range(count))
        self.back = nn.ModuleList(nn.Linear(columns, depth) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for there, back in zip(self.there, self.back, strict=True):
            x = back(there(x))
        return x


def _layers(rows: int, depth: int, columns: int, dtype: str) -> Small:
    def make() -> nn.Module:
        torch.manual_seed(0)
        return _Layers(depth, columns, 4).to(DTYPES[dtype]).eval()

    return Small(f"linear {rows}x{depth}x{columns} {dtype}", make, (f"{rows}x{depth}x{dtype}",))


def _free_products(x: Tensor, y: Tensor) -> Tensor:
    for _ in range(4):
        x = (x @ y) @ y.mT
    return x


def _products() -> list[Small]:
    found = [_layers(*shape, dtype) for dtype in ("f32", "bf16") for shape in PRODUCTS]
    for sizes in ((8, 64, 64, 64), (16, 10, 12, 14), (12, 128, 64, 128), (4, 1, 64, 100), (32, 33, 17, 9)):
        b, m, k, n = sizes
        for dtype in ("f32", "bf16"):
            ins = (f"{b}x{m}x{k}x{dtype}", f"{b}x{k}x{n}x{dtype}")
            found.append(Small(f"batched {' '.join(ins)}", _function(_free_products), ins))
    for m, k, n in ((64, 100, 60), (16, 33, 33), (128, 256, 256)):
        ins = (f"{m}x{k}xf32", f"{k}x{n}xf32")
        found.append(Small(f"free {' '.join(ins)}", _function(_free_products), ins))
    return found


SINGLE: Mapping[str, Callable[[], list[Small]]] = {
    "reductions": _reductions,
    "norms": _norms,
    "elementwise": _elementwise,
    "movement": _movement,
    "images": _images,
    "convolutions": _convolutions,
    "products": _products,
}
