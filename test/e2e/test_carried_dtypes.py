"""Dtypes that the IR lacks against eager: moves and complex arithmetic are our ops, ATen runs the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import tilewright
from tilewright.frontend.fx.dtypes import CARRIERS

Function = Callable[..., Any]
REFERENCE = {"target": "reference"}


def fall_backs(function: Function, *args: Any, **how: Any) -> list[str]:
    """The operators for which ATen stood in; the results are those of eager mode."""
    found = tilewright.explain(function, *args, **how)
    got, want = found.result, function(*args)
    for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, want)), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        torch.testing.assert_close(_plain(one), _plain(other), equal_nan=True)
    return [fallback.op for graph in found.graphs for fallback in graph.fallbacks]


def _plain(value: Tensor) -> Tensor:
    """What can be compared; numbers that have a tolerance of their own keep it."""
    return value if value.is_complex() or value.dtype in (torch.float32, torch.float64) else value.double()


def moved(x: Tensor) -> tuple[Tensor, ...]:
    """Everything that only moves elements, of three dimensions with unequal sizes."""
    return (
        x[1:, :2].mT,
        x.permute(1, -1, 0),
        x.unsqueeze(-1).squeeze(-1),
        x.select(-1, 1),
        x.flip(-1),
        torch.cat([x, x], -1),
        x.expand(2, *x.shape),
        x.repeat(1, 2, 1),
        F.pad(x, (1, 2, 0, 1)),
        *x.unbind(1),
        *x.split(2, -1),
        x.reshape(-1),
        x.transpose(0, -1),
        x.slice_scatter(x[:2], 0, 1).select_scatter(x[..., 0], -1, 2),
        x[torch.tensor([2, 0])],
        x.index_select(-1, torch.tensor([0, 1])),
        torch.where(torch.arange(5) > 2, x, x.flip(0)),
    )


def arithmetic(x: Tensor, y: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    return (
        x * y + 1,
        x - y,
        -x,
        1 - x,
        (x.conj() * x).resolve_conj(),
        x * 2.5,
        x * (1 + 2j),
        x * r,
        r + x,
        x.sum(),
        x.sum((0, -1), keepdim=True),
        torch.where(r > 0, x, 2j),
        torch.complex(r, r + 1) * torch.polar(r.abs(), r),
        x.real * y.imag,
        torch.zeros_like(x) + y,
    )


def converted(z: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    return (
        z.to(torch.complex128) * 2,
        z.to(torch.complex128) * z,
        r.to(torch.complex64),
        r.double().to(torch.complex64),
        r.half().to(torch.complex128),
        (r * 3).int().to(torch.complex64),
        (r > 0).to(torch.complex64),
        z.to(torch.float64),
        z.to(torch.bfloat16),
        (z * 3).to(torch.int32),
    )


def gathered(z: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    return (
        z.gather(1, i),
        z.gather(-2, i[:, :1]),
        z.gather(-1, i[..., :2]),
        z.gather(1, i[:, :0]),
        z.flatten().gather(0, i.flatten()),
        z[0, 0, 0].gather(0, i[0, 0, 0] * 0),
    )


def scattered(z: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    first = torch.tensor([2, 0, 2])
    return (
        z.scatter_add(1, i, z * 2),
        z.scatter_add(-1, i[:, :1], z[:, 2:]),
        z.flatten().scatter_add(0, i.flatten(), z.flatten()),
        z[0, 0, 0].scatter_add(0, i[0, 0, 0] * 0, z[0, 0, 1]),
        z.index_put((first,), z + 1, accumulate=True),
        z.mT.index_put((first[:2],), z.mT[1:]),
        z.index_put((first[:, None], torch.tensor([0, 3])), z[0, 0, 0], accumulate=True),
    )


def numbers(*shape: int, dtype: torch.dtype = torch.complex64) -> Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def test_moving_complex_numbers() -> None:
    assert not fall_backs(moved, numbers(3, 4, 5), options=REFERENCE)


def test_complex_arithmetic() -> None:
    assert not fall_backs(arithmetic, numbers(3, 4, 5), numbers(4, 5), numbers(3, 4, 5).real)
    strided, empty = numbers(5, 4, 3).mT.transpose(0, 1), numbers(0, 4, 5)
    wide = numbers(3, 1, 4, dtype=torch.complex128)
    assert not fall_backs(arithmetic, strided, wide, strided.imag, options=REFERENCE)
    assert not fall_backs(arithmetic, empty, numbers(4, 5), empty.real, options=REFERENCE)
    assert not fall_backs(lambda x: (x * x, x.sum(), x.reshape(1)), numbers(), options=REFERENCE)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_converting_complex_numbers() -> None:
    assert not fall_backs(converted, numbers(3, 4, 5), numbers(3, 4, 5).real, options=REFERENCE)
    assert not fall_backs(converted, numbers(), numbers().real, options=REFERENCE)


def test_gathering_complex_numbers() -> None:
    index = torch.arange(3 * 2 * 4).reshape(3, 2, 4) % 3
    assert not fall_backs(gathered, numbers(3, 4, 5), index)
    assert not fall_backs(lambda z, i: z.gather(0, i), numbers(), index[0, 0] * 0, options=REFERENCE)


def test_scattering_complex_numbers() -> None:
    index = torch.arange(3 * 2 * 4).reshape(3, 2, 4) % 3
    assert not fall_backs(scattered, numbers(3, 4, 5), index)


def test_gradient_of_a_table_of_complex_numbers() -> None:
    def function(table: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        rows = table[index[:, 0]] * table.gather(0, index).to(torch.complex64)
        return torch.autograd.grad(torch.view_as_real(rows).square().sum(), table)

    index = torch.tensor([[2, 0, 1], [1, 1, 1], [2, 2, 0], [0, 1, 2]])
    assert not fall_backs(function, numbers(3, 3, dtype=torch.complex128).requires_grad_(), index)


def test_gradient_of_a_product_with_a_complex_number() -> None:
    """The number itself is conjugated, which stands in the graph as it is."""

    def turned(z: Tensor) -> Tensor:
        return torch.view_as_real(z * (1 + 2j))

    z = torch.randn(5, dtype=torch.complex64, requires_grad=True)
    for target in ("reference", "gpu_emulated"):
        torch._dynamo.reset()
        compiled = torch.compile(turned, backend="mlir", options={"target": target})
        (got,) = torch.autograd.grad(compiled(z).sum(), z)
        (want,) = torch.autograd.grad(turned(z).sum(), z)
        torch.testing.assert_close(got, want)


def test_a_complex_number_is_one_element() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x.flip(0), x.index_select(0, torch.tensor([0])), x.transpose(0, -1)

    assert not fall_backs(function, numbers(), options=REFERENCE)


@pytest.mark.parametrize("dtype", CARRIERS, ids=str)
def test_zeros_of_any_dtype(dtype: torch.dtype) -> None:
    """Attention without dropout has them for seeds of 64 bits without a sign."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        zeros = torch.full((2, 3), 0, dtype=dtype)
        return zeros, torch.full_like(zeros, 0).mT, x + 1

    assert not fall_backs(function, torch.ones(2), options=REFERENCE)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.uint16, torch.float8_e5m2])
def test_constants_of_the_graph(dtype: torch.dtype) -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return torch.tensor(2, dtype=dtype).expand(3).clone(), torch.tensor([1, 0], dtype=dtype)[x]

    assert not fall_backs(function, torch.tensor([1, 1, 0]), options=REFERENCE)


def test_complex_sizes_that_are_symbols() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x * y, x[1:].mT, x.sum(0), torch.cat([x, y])

    assert not fall_backs(function, numbers(5, 4), numbers(5, 4), dynamic=True)


def test_rotary_embedding_is_kernels() -> None:
    def rotate(x: Tensor, angles: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)

    assert not fall_backs(rotate, torch.randn(2, 3, 8), torch.randn(3, 4))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.float8_e4m3fn])
def test_moving_other_dtypes(dtype: torch.dtype) -> None:
    x = torch.arange(15).reshape(3, 5)
    ours = fall_backs(lambda x: (x.mT, x[1:].unsqueeze(0), x.reshape(-1), x.flip(0)), x.to(dtype))
    assert not ours


MIXED: dict[str, tuple[Tensor, Tensor]] = {
    "uint16_to_uint32": (torch.tensor([1, 2, 3]).to(torch.uint32), torch.tensor([65535, 4]).to(torch.uint16)),
    "another_float8": (torch.ones(3).to(torch.float8_e5m2), torch.tensor([-2.0, 7]).to(torch.float8_e4m3fn)),
    "float8_to_float": (torch.ones(3), torch.tensor([-2.0, 3]).to(torch.float8_e5m2)),
    "float_to_float8": (torch.ones(3).to(torch.float8_e5m2), torch.tensor([-2.0, 3])),
    "float_to_complex": (numbers(3), torch.tensor([-2.0, 3])),
}


@pytest.mark.parametrize("pair", MIXED.values(), ids=MIXED)
def test_what_is_written_is_converted(pair: tuple[Tensor, Tensor]) -> None:
    """Bits that mean one thing in a dtype mean another in the next."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        whole = x[:2].clone()
        whole.copy_(y)
        return whole, x.slice_scatter(y, 0, 1), x.select_scatter(y[0], 0, 1)

    fall_backs(function, *pair, options=REFERENCE)


NATIVE: dict[str, Function] = {
    "fft": lambda x: torch.fft.rfft(x.flatten(1)).abs(),
    "float8": lambda x: x.abs().to(torch.float8_e8m0fnu).float() + 1,
    "uint16": lambda x: (x.abs() * 9).to(torch.int32).to(torch.uint16).to(torch.int32),
    "complex_half": lambda x: torch.view_as_complex(x.half()) * 2,
    "with_a_real_tensor": lambda x: torch.cat([torch.view_as_complex(x), x[..., 0]]),
}


@pytest.mark.parametrize("name", NATIVE)
def test_the_rest_runs_through_aten(name: str) -> None:
    assert fall_backs(NATIVE[name], torch.randn(3, 4, 2))


def test_complex_numbers_are_written_in_place() -> None:
    x = numbers(4, 3).T
    want = x.clone()
    want.mul_(2j).add_(1)
    torch.compile(lambda x: x.mul_(2j).add_(1), backend="mlir")(x)
    torch.testing.assert_close(x, want)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ((y := x * 2), y.conj()),
        lambda x: ((y := x * 2), y.conj()[1:], y[1:]),
        lambda x: (x.conj(), x * 2, x.chunk(2)[1].conj()),
        lambda x: ((y := x * 2), y.conj().imag, y.imag),
    ],
)
def test_conjugates_beside_what_they_are_of(function: Function) -> None:
    """They share its memory in eager mode, and hold other numbers."""
    torch._dynamo.reset()
    x = numbers(4, 3, 6)
    for got, want in zip(torch.compile(function, backend="mlir")(x), function(x), strict=True):
        torch.testing.assert_close(got.resolve_conj().resolve_neg(), want.resolve_conj().resolve_neg())


def test_complex_results_keep_their_strides() -> None:
    """What a forward graph saves is read by a backward graph that was made for these strides."""
    x, y = (numbers(4, n, 6 - n).requires_grad_() for n in (2, 4))

    def function(x: Tensor, y: Tensor) -> Tensor:
        return (x @ y).mT * 2

    def run(function: Function) -> list[Tensor]:
        out = function(x, y)
        return [out, *torch.autograd.grad(out.abs().sum(), (x, y))]

    torch._dynamo.reset()
    for got, want in zip(run(torch.compile(function, backend="mlir")), run(function), strict=True):
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()


@pytest.mark.filterwarnings("ignore:TW1005")
def test_arguments_whose_memory_has_the_other_sign() -> None:
    """The imaginary part of a conjugate is a view of the numbers before they were conjugated."""
    z = torch.complex(torch.arange(6.0), torch.arange(6.0) - 2)
    x = z.conj().imag
    assert x.is_neg()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: (x + 1, x.sum()), backend="mlir")
    torch.testing.assert_close(compiled(x), (x + 1, x.sum()))
