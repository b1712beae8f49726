"""What single ATen rows get wrong easily: sides, orders, ranges, defaults; each against eager by itself."""

from __future__ import annotations

import math

import pytest
import torch
from test_aten_ops import Function, compare, compiled, native
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from tilewright.dialects.interpreter import interpret
from tilewright.frontend.fx.fx_import import import_fx

X = torch.arange(60.0).reshape(3, 4, 5) * 7 % 11 - 5
AT, LAST = torch.tensor([0, 2, 1]), torch.tensor([4, -1, 0])

ROWS: dict[str, Function] = {
    "var": lambda x: x.var(1),
    "var with a correction": lambda x: torch.var(x, (0, 2), correction=7),
    "mean of some": lambda x: x.mean((0, 2)),
    "norm 1": lambda x: torch.linalg.vector_norm(x, 1, 1),
    "norm 3": lambda x: torch.linalg.vector_norm(x, 3, (0, 1)),
    "norm inf": lambda x: torch.linalg.vector_norm(x, math.inf, 2),
    "norm of all": lambda x: torch.ops.aten.norm.Scalar(x, 1),
    "slice_scatter": lambda x: torch.slice_scatter(x, x[:, :2] * 3, 1, 1, 3),
    "slice_scatter with steps": lambda x: torch.slice_scatter(x, x[..., :2] * 3, 2, 1, 5, 2),
    "select_scatter": lambda x: torch.select_scatter(x, x[:, 0] * 3, 1, 2),
    "as_strided": lambda x: x.as_strided((4, 3, 2), (1, 20, 4), 3) + 0,
    "as_strided that overlaps": lambda x: x.as_strided((9, 4), (3, 2)) + 0,
    "as_strided that turns": lambda x: x.as_strided((5, 3, 4), (4, 20, 1)) + 0,
    "as_strided of what is turned": lambda x: (x.permute(2, 0, 1) * 3).as_strided((3, 4, 5), (20, 1, 4)) + 0,
    "as_strided_scatter": lambda x: torch.as_strided_scatter(x, x[0, :, :3] * 3, (4, 3), (2, 8), 5),
    "as_strided_scatter that turns": lambda x: torch.as_strided_scatter(
        x, x.reshape(5, 3, 4) * 3, (5, 3, 4), (4, 20, 1)
    ),
    "as_strided_scatter into what is turned": lambda x: torch.as_strided_scatter(
        x.permute(2, 0, 1) * 3, x[0], (4, 5), (7, 1), 2
    ),
    "triu": lambda x: x.triu(),
    "triu above": lambda x: x.triu(1),
    "tril below": lambda x: x.tril(-1),
    "diagonal above": lambda x: x.diagonal(1, 1, 2) + 0,
    "diagonal below": lambda x: x.diagonal(-2, 2, 0) + 0,
    "pad": lambda x: F.pad(x, (1, 0, 0, 2), value=9),
    "pad negative": lambda x: F.pad(x, (-2, 1, 1, -1)),
    "reflect": lambda x: F.pad(x, (2, 1), mode="reflect"),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "repeat more dimensions": lambda x: x[0].repeat(3, 1, 2),
    "roll": lambda x: x.roll((1, -2), (0, 2)),
    "booleans with a factor": lambda x: torch.add(x > 30, x > 40, alpha=-2),
    "sum to a boolean": lambda x: (x - 7).sum(1, dtype=torch.bool),
    "product to booleans": lambda x: (x - 7).prod(1, dtype=torch.bool),
    "index": lambda x: x[:, AT],
    "index next to each other": lambda x: x[:, AT, LAST],
    "index apart": lambda x: x[AT, :, LAST],
    "index apart behind the first": lambda x: x[None][:, AT, :, LAST],
    "index_put": lambda x: x.index_put((AT, AT), x[:, 0] * 3),
    "index_put that adds": lambda x: x.index_put((torch.tensor([1, 1, 0]),), x * 3, accumulate=True),
    "index_put apart": lambda x: x.index_put((AT, torch.tensor([0, 3, 1]), LAST), torch.ones(3)),
    "addmm": lambda x: torch.addmm(x[0, :, :4], x[1], x[2].T, beta=0.5, alpha=3),
    "baddbmm": lambda x: torch.baddbmm(x[..., :4], x, x.transpose(1, 2), beta=3, alpha=0.5),
    "add": lambda x: torch.add(x, x.flip(0), alpha=3),
    "sub": lambda x: torch.sub(x, x.flip(0), alpha=3),
    "rsub": lambda x: torch.rsub(x, x.flip(0)),
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3),
    "lerp by tensors": lambda x: torch.lerp(x, x.flip(0), x / 10),
    "addcdiv": lambda x: torch.addcdiv(x, x.flip(0), x + 7, value=3),
    "gradient of an embedding": lambda x: torch.ops.aten.embedding_dense_backward(
        x[:, 0], torch.tensor([0, 2, 0]), 4, -1, False
    ),
    "padding 0 of an embedding": lambda x: torch.ops.aten.embedding_dense_backward(
        x[:, 0], torch.tensor([0, 2, 0]), 4, 0, False
    ),
    "addbmm": lambda x: torch.addbmm(x[0, :, :4], x, x.transpose(1, 2), beta=0.5, alpha=3),
    "bilinear": lambda x: F.bilinear(x, x.flip(0)[..., :3], X.reshape(4, 5, 3), X[0, :, 0]),
    "angle": lambda x: torch.angle(torch.where(x == 1, math.nan, x)),
    "angle of integers": lambda x: torch.angle(x.long()),
    "angle of complex numbers": lambda x: torch.angle(torch.complex(x, x.flip(0))),
    "masked_scatter": lambda x: x.masked_scatter(x[:, :1] > 0, x.flip(0) * 3),
    "masked_scatter to more": lambda x: x[0].masked_scatter(x > 0, x.flip(0) * 3),
    "gradient of masked_scatter": lambda x: torch.ops.aten.masked_scatter_backward(x, x > 0, (7, 9)),
    "put": lambda x: x.put(torch.tensor([[0, 7], [-1, 59]]), x[0, 0, :4].view(2, 2) * 3),
    "put that adds": lambda x: x.put(torch.tensor([0, 7, 0]), x[0, 0, :3] * 3, accumulate=True),
    "isin": lambda x: torch.isin(x, x[0, 0]),
    "not isin": lambda x: torch.isin(x, x[0, 0], invert=True),
    "ldexp": lambda x: torch.ldexp(x, x.flip(0)),
    "narrow_copy": lambda x: x.narrow_copy(1, 1, 2),
    "gradients of weight_norm": lambda x: torch.ops.aten._weight_norm_interface_backward(
        x.flip(0), x, x[:, :1, :1].contiguous(), x.square().sum((1, 2), keepdim=True).sqrt(), 0
    ),
    "zeros without memory": lambda x: torch._efficientzerotensor(x.shape) + x,
    "complex zeros without memory": lambda x: torch.view_as_real(
        torch._efficientzerotensor(x.shape, dtype=torch.complex64) + torch.complex(x, x.flip(0))
    ),
    "gradient of a gradient": lambda x: torch.func.hessian(lambda v: (v @ v).tanh())(x[0, 0] / 9),
    "causal attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    got, record = compiled(ROWS[name], X)
    compare(got, ROWS[name](X), name)
    assert native(record) == []


TAKEN_APART = (
    "norm of all",
    "triu",
    "triu above",
    "tril below",
    "lerp",
    "lerp by tensors",
    "addcdiv",
    "select_scatter",
)
"""Functions whose operators torch takes apart in a compile; graphs of other origin hold them."""


@pytest.mark.parametrize("name", TAKEN_APART)
def test_row_without_decompositions(name: str) -> None:
    graph = import_fx(make_fx(lambda x: (ROWS[name](x),), tracing_mode="fake")(X))
    assert graph.fallbacks == ()
    compare(interpret(graph.module, [X.clone()], torch), [ROWS[name](X)], name)


RANGES = [(0.1, -7.9, -4.0), (2.7, 10.2, 2.2), (-3.5, 4), (0.5, 700, 1.7)]


def _ranges(dtype: torch.dtype) -> list[Tensor]:
    """Of each bounds; something else is computed as well, or there was no graph."""
    got, record = compiled(lambda x: [x + 1, *(torch.arange(*bounds, dtype=dtype) for bounds in RANGES)], X)
    assert native(record) == []
    return got[1:]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16, torch.uint8], ids=str)
def test_integers_count_without_fractions(dtype: torch.dtype) -> None:
    """`arange(0.1, -7.9, -4.0)` is 0, -4: not -3, which 0.1 - 4.0 becomes."""
    compare(_ranges(dtype), [torch.arange(*bounds, dtype=dtype) for bounds in RANGES], str(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_halves_count_in_f32(dtype: torch.dtype) -> None:
    """A step that was rounded to a half would be off by more, the more steps there are."""
    for bounds, found in zip(RANGES, _ranges(dtype), strict=True):
        exact = torch.arange(*bounds, dtype=torch.float64)
        one_off = torch.nextafter(exact.to(dtype), torch.tensor(float("inf"), dtype=dtype)) - exact.to(dtype)
        assert ((found.double() - exact).abs() <= 0.51 * one_off.double()).all(), bounds


def _drawn(function: Function) -> tuple[Tensor, ...]:
    torch.manual_seed(5)
    got, record = compiled(function)
    assert native(record) == []
    return got


def test_random_integers_take_every_value() -> None:
    (found,) = _drawn(lambda: (torch.randint(3, 7, (400,)),))
    assert torch.bincount(found).tolist()[:3] == [0, 0, 0]
    assert all(60 < count < 140 for count in torch.bincount(found).tolist()[3:])


def test_numbers_after_normal_ones_are_new() -> None:
    """A normal number is radius * cos(2 pi v): a stream that repeats `v` gives its sign away."""
    normal, after, last = _drawn(lambda: (torch.randn(1000), torch.rand(1000), torch.rand(1000)))
    for found in (after, last):
        agree = (normal.sign() == torch.cos(2 * math.pi * found).sign()).float().mean()
        assert 0.4 < agree < 0.6
    assert not torch.equal(after, last)
