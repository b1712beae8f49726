"""Kernels written by hand, one per corner of the language: text, arguments, grid.

Run as a program, under TRITON_INTERPRET=1, it has Triton's own interpreter run them all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

TEXT = """import triton
import triton.language as tl


@triton.jit
def integers(x, y, o, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    m = i < n
    a = tl.load(x + i, m, other=1)
    b = tl.load(y + i, m, other=1)
    tl.store(o + i, a // b, m)
    tl.store(o + n + i, a % b, m)
    tl.store(o + 2 * n + i, a * 1000003 + b, m)
    tl.store(o + 3 * n + i, (a >> 3) ^ (b << 2), m)
    tl.store(o + 4 * n + i, -a & ~b, m)
    tl.store(o + 5 * n + i, tl.minimum(a, b) - tl.maximum(a, 7), m)
    u = a.to(tl.uint32)
    v = b.to(tl.uint32)
    tl.store(o + 6 * n + i, (u // v).to(tl.int32, bitcast=True), m)
    tl.store(o + 7 * n + i, (u >> 5).to(tl.int32, bitcast=True), m)
    tl.store(o + 8 * n + i, tl.umulhi(u, v).to(tl.int32, bitcast=True), m)
    tl.store(o + 9 * n + i, (u < v).to(tl.int32), m)


@triton.jit
def mixed(x, y, o, n):
    i = tl.arange(0, 64)
    m = i < n
    a = tl.load(x + i, m, other=0.0)
    k = tl.load(y + i, m, other=0)
    tl.store(o + i, a + k, m)
    tl.store(o + n + i, k / 3, m)
    tl.store(o + 2 * n + i, a.to(tl.float16) * 2, m)
    tl.store(o + 3 * n + i, a.to(tl.int32), m)
    tl.store(o + 4 * n + i, (a > 0) & (k != 2), m)
    tl.store(o + 5 * n + i, a.to(tl.int32, bitcast=True) >> 16, m)
    tl.store(o + 6 * n + i, tl.where(m, a, k), m)
    tl.store(o + 7 * n + i, (k + 0).to(tl.int8).to(tl.float32), m)
    tl.store(o + 8 * n + i, k.to(tl.int64) * 3000000000, m)


@triton.jit
def reductions(x, o, p, n):
    r = tl.program_id(0)
    c = tl.arange(0, 32)
    m = c < n
    v = tl.load(x + r * n + c, m, other=-float("inf"))
    w = tl.load(x + r * n + c, m, other=float("inf"))
    z = tl.load(x + r * n + c, m, other=0.0)
    tl.store(o + r * 8, tl.max(v, 0))
    tl.store(o + r * 8 + 1, tl.min(w, 0))
    tl.store(o + r * 8 + 2, tl.sum(z, 0))
    tl.store(o + r * 8 + 3, tl.sum(z * z, axis=0))
    tl.store(o + r * 8 + 4, tl.max(z.to(tl.float16), 0))
    tl.store(p + r * 4, tl.argmax(v, 0))
    tl.store(p + r * 4 + 1, tl.argmin(w, 0))
    tl.store(p + r * 4 + 2, tl.sum((z > 0).to(tl.int32), 0))
    tl.store(p + r * 4 + 3, tl.xor_sum(c, 0))


@triton.jit
def pick(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def custom(x, o, p):
    r = tl.arange(0, 8)
    c = tl.arange(0, 16)
    v = tl.load(x + r[:, None] * 16 + c[None, :])
    index = tl.broadcast_to(c[None, :], (8, 16))
    best, at = tl.reduce((v, index), 1, pick)
    tl.store(o + r, best)
    tl.store(p + r, at)
    tl.store(p + 8 + c, tl.max(index, 0))
    tl.store(o + 8 + tl.arange(0, 1), tl.sum(v, axis=None, keep_dims=True).reshape(1))


@triton.jit
def line(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scans(x, o):
    r = tl.arange(0, 4)[:, None]
    c = tl.arange(0, 16)[None, :]
    v = tl.load(x + r * 16 + c)
    tl.store(o + r * 16 + c, tl.cumsum(v, 1))
    tl.store(o + 64 + r * 16 + c, tl.cumsum(v, 0))
    tl.store(o + 128 + r * 16 + c, tl.cumsum(v, 1, reverse=True))
    f, g = tl.associative_scan((v * 0.5, v), 1, line)
    tl.store(o + 192 + r * 16 + c, g)
    tl.store(o + 256 + r * 16 + c, tl.cumprod(v, 1))


@triton.jit
def shapes(x, o):
    r = tl.arange(0, 8)
    c = tl.arange(0, 16)
    v = tl.load(x + r[:, None] * 16 + c[None, :])
    tl.store(o + c[:, None] * 8 + r[None, :], tl.trans(v))
    tl.store(o + 128 + tl.arange(0, 128), tl.reshape(v, (128,)))
    a, b = tl.split(tl.reshape(v, (8, 8, 2)))
    k = tl.arange(0, 8)
    tl.store(o + 256 + k[:, None] * 8 + k[None, :], a - b)
    both = tl.join(a, b)
    t = tl.permute(both, (2, 0, 1))
    q = tl.arange(0, 2)[:, None, None] * 64 + k[None, :, None] * 8 + k[None, None, :]
    tl.store(o + 320 + q, t)
    tl.store(o + 448 + k, tl.sum(tl.expand_dims(a, 0), 2).reshape(8))
    tl.store(o + 456 + tl.arange(0, 128), tl.ravel(tl.interleave(a, b)))


@triton.jit
def product(a, b, c, M, N, K):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    columns = tl.program_id(1) * 16 + tl.arange(0, 16)
    total = tl.zeros((16, 16), dtype=tl.float32)
    for k in range(0, K, 16):
        inner = k + tl.arange(0, 16)
        mx = (rows[:, None] < M) & (inner[None, :] < K)
        my = (inner[:, None] < K) & (columns[None, :] < N)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mx, other=0.0)
        y = tl.load(b + inner[:, None] * N + columns[None, :], my, other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def halves(a, b, c):
    i = tl.arange(0, 16)
    x = tl.load(a + i[:, None] * 16 + i[None, :])
    y = tl.load(b + i[:, None] * 16 + i[None, :])
    tl.store(c + i[:, None] * 16 + i[None, :], tl.dot(x, y).to(tl.float16))


@triton.jit
def ways(x, o, n):
    p = tl.program_id(0)
    total = 0.0
    for i in range(p, n, 3):
        total += tl.load(x + i)
    if p % 2 == 0:
        total = -total
    k = p
    while k > 0:
        total += 1.0
        k = k // 2
    for i in tl.static_range(3):
        total = total * 2 + i
    tl.store(o + p, total)


@triton.jit
def atomics(x, o, p, f, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    m = i < n
    k = tl.load(x + i, m, other=0)
    tl.atomic_add(o + k, 1, m)
    tl.atomic_max(o + 8 + k, i, m)
    tl.atomic_min(o + 16 + k, i, m)
    tl.atomic_xchg(p + i, k * 2, m)
    bits = (f + k).to(tl.pointer_type(tl.uint32), bitcast=True)
    number = (i - 60).to(tl.uint32, bitcast=True) >> 2
    tl.atomic_max(bits, number, m)
    tl.atomic_min(bits + 8, number, m)


@triton.jit
def order(x, o):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    tl.store(o + i, tl.sort(v))
    tl.store(o + 64 + i, tl.sort(v, descending=True))
    tl.store(o + 128 + tl.arange(0, 8), tl.topk(v, 8))


@triton.jit
def functions(x, o, n):
    i = tl.arange(0, 64)
    m = i < n
    v = tl.load(x + i, m, other=1.0)
    a = tl.abs(v)
    tl.store(o + i, tl.exp(v) + tl.exp2(v), m)
    tl.store(o + n + i, tl.log(a) - tl.log2(a), m)
    tl.store(o + 2 * n + i, tl.sqrt(a) * tl.rsqrt(a), m)
    tl.store(o + 3 * n + i, tl.sin(v) + tl.cos(v), m)
    tl.store(o + 4 * n + i, tl.floor(v) + tl.ceil(v), m)
    tl.store(o + 5 * n + i, tl.sigmoid(v) + tl.erf(v), m)
    tl.store(o + 6 * n + i, tl.fma(v, v, 1.0), m)
    tl.store(o + 7 * n + i, tl.clamp(v, -0.5, 0.5), m)
    tl.store(o + 8 * n + i, tl.maximum(v, 0.25, propagate_nan=tl.PropagateNan.ALL), m)
    tl.store(o + 9 * n + i, tl.math.fdiv(v, 3.0) + tl.cdiv(i, 7), m)


@triton.jit
def blocks(x, o, M, N):
    d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [8, 16])
    e = tl.make_tensor_descriptor(o, [M, N], [N, 1], [8, 16])
    at = [tl.program_id(0) * 8, tl.program_id(1) * 16]
    e.store(at, d.load(at) * 2.0)


@triton.jit
def tables(x, o):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    tl.store(o + tl.arange(0, 8), tl.histogram(v, 8))
    tl.store(o + 8 + i, tl.gather(v, 31 - i, 0))
    g, h = tl.swizzle2d(i // 8, i % 8, 4, 8, 2)
    tl.store(o + 40 + i, g * 8 + h)


@triton.jit
def drawn(words, numbers, n, seed):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    m = i < n
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(words + i, a.to(tl.int32, bitcast=True), m)
    tl.store(words + n + i, d.to(tl.int32, bitcast=True), m)
    far = tl.randint(seed + 1, i.to(tl.int64) * 1000000007)
    tl.store(words + 2 * n + i, far.to(tl.int32, bitcast=True), m)
    tl.store(numbers + i, tl.rand(seed, i), m)
    tl.store(numbers + n + i, tl.rand(tl.program_id(0), i), m)
    tl.store(numbers + 2 * n + i, tl.randn(seed, i), m)
    a, b, c, d = tl.rand4x(seed, -i)
    tl.store(numbers + 3 * n + i, c, m)
"""

Sample = tuple[str, Callable[[], list[Any]], tuple[int, int, int], str]


def _floats(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _numbers(low: int, high: int, count: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, (count,), generator=generator, dtype=torch.int32)


def _ints() -> list[Any]:
    y = _numbers(-50, 50, 100, 1)
    return [
        _numbers(-(2**31), 2**31 - 1, 100),
        torch.where(y == 0, 7, y),
        torch.zeros(1000, dtype=torch.int32),
        100,
    ]


def _ties() -> list[Any]:
    x = _floats(12, 23).round()
    return [x, torch.zeros(96), torch.zeros(48, dtype=torch.int32), 23]


SAMPLES: Sequence[Sample] = (
    ("integers", _ints, (2, 1, 1), "*i32 *i32 *i32 i32"),
    (
        "mixed",
        lambda: [_floats(50) * 9, _numbers(-300, 300, 50), torch.zeros(450), 50],
        (1, 1, 1),
        "*fp32 *i32 *fp32 i32",
    ),
    ("reductions", _ties, (12, 1, 1), "*fp32 *fp32 *i32 i32"),
    (
        "custom",
        lambda: [_floats(128).round(), torch.zeros(9), torch.zeros(24, dtype=torch.int32)],
        (1, 1, 1),
        "*fp32 *fp32 *i32",
    ),
    ("scans", lambda: [_floats(64), torch.zeros(320)], (1, 1, 1), "*fp32 *fp32"),
    ("shapes", lambda: [_floats(128), torch.zeros(584)], (1, 1, 1), "*fp32 *fp32"),
    (
        "product",
        lambda: [_floats(37, 29), _floats(29, 21), torch.zeros(37, 21), 37, 21, 29],
        (3, 2, 1),
        "*fp32 *fp32 *fp32 i32 i32 i32",
    ),
    (
        "halves",
        lambda: [_floats(256).half(), _floats(256, seed=1).half(), torch.zeros(256).half()],
        (1, 1, 1),
        "*fp16 *fp16 *fp16",
    ),
    ("ways", lambda: [_floats(40), torch.zeros(7), 40], (7, 1, 1), "*fp32 *fp32 i32"),
    (
        "atomics",
        lambda: [
            _numbers(0, 8, 90),
            torch.cat([torch.zeros(16), torch.full((8,), 99.0)]).int(),
            torch.zeros(90, dtype=torch.int32),
            torch.cat([torch.zeros(8), torch.full((8,), -1.0)]),
            90,
        ],
        (3, 1, 1),
        "*i32 *i32 *i32 *fp32 i32",
    ),
    ("order", lambda: [_floats(64), torch.zeros(136)], (1, 1, 1), "*fp32 *fp32"),
    ("functions", lambda: [_floats(60), torch.zeros(600), 60], (1, 1, 1), "*fp32 *fp32 i32"),
    ("blocks", lambda: [_floats(19, 32), torch.zeros(19, 32), 19, 32], (3, 2, 1), "*fp32 *fp32 i32 i32"),
    (
        "drawn",
        lambda: [torch.zeros(300, dtype=torch.int32), torch.zeros(400), 100, 123456789],
        (2, 1, 1),
        "*i32 *fp32 i32 i32",
    ),
    ("tables", lambda: [_numbers(0, 8, 32), torch.zeros(72, dtype=torch.int32)], (1, 1, 1), "*i32 *i32"),
)


def _interpret(module: Any, folder: str) -> None:
    """What Triton's own interpreter makes of each sample, saved by name."""
    for name, arguments, grid, _ in SAMPLES:
        args = arguments()
        getattr(module, name)[grid](*args)
        torch.save([a for a in args if isinstance(a, torch.Tensor)], f"{folder}/{name}.pt")


if __name__ == "__main__":
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    target = Path(sys.argv[1])
    (target / "samples_text.py").write_text(TEXT)
    spec = spec_from_file_location("samples_text", target / "samples_text.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    _interpret(loaded, sys.argv[1])
