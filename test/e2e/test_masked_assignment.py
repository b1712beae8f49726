"""Assignments at masks are kernels: selects, and values that each position takes in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
NAMES = ("float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


def assigned(x: Tensor, *place: Tensor | slice, value: Tensor | float) -> Tensor:
    x = x.clone()
    x[place] = value
    return x


def of_one_value(x: Tensor, mask: Tensor) -> list[Tensor]:
    """`x` is [3, 5, 7]; masks cover all of it, leading, inner and last dimensions."""
    everywhere = slice(None)
    line = x[0, 0].clone()
    return [
        assigned(x, mask, value=3),
        assigned(x, mask[:, :, 0], value=x[0, 0]),
        assigned(x, mask[:, 0, 0], value=x[:1] + x[0]),
        assigned(x, everywhere, mask[0, :, 0], value=x[:, :1, :1]),
        assigned(x, everywhere, mask[0], value=x[:, 0, :1]),
        assigned(x.transpose(0, 2), mask.transpose(0, 2), value=x[0, 0, 0]),
        x.index_put((mask,), x[0, 0, :1], accumulate=True),
        x.index_put((mask,), x[:1, :1, :1, None]),
        x.index_put((mask[:, 0, 0],), x[0], accumulate=True),
        assigned(x[:0], mask[:0], value=1),
        assigned(line, mask[0, 0], value=1),
        assigned(line[0], mask[0, 0, 0], value=1),
    ]


def of_many_values(x: Tensor, mask: Tensor) -> list[Tensor]:
    """As many as there are positions, which is known here: 40, 5 and 2 of them."""
    flat = x.reshape(-1)
    return [
        assigned(x, mask, value=flat[:40]),
        assigned(x, mask[:, :, 0], value=x[0, :, :]),
        assigned(x, mask[:, :, 0], value=flat[:5, None]),
        assigned(x, slice(None), mask[0, :, 0], value=x[:, :2]),
        assigned(x, slice(None), slice(None), mask[0, 0], value=flat[1:3]),
        x.index_put((mask,), flat[-40:], accumulate=True),
    ]


def counted_mask() -> Tensor:
    mask = torch.zeros(3, 5, 7, dtype=torch.bool)
    mask[0, 0, 3], mask[0, 0, 0], mask[0, 3, 0], mask[1, 1:3, 0], mask[2, 4, 0] = (True,) * 5
    mask[1:, :, 1:] = (torch.arange(60) < 40 - mask.sum()).view(2, 5, 6)
    return mask


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [of_one_value, of_many_values])
def test_as_in_eager(function: Callable[[Tensor, Tensor], list[Tensor]], target: str) -> None:
    mask = counted_mask()
    assert [int(m.sum()) for m in (mask, mask[:, :, 0], mask[0, :, 0], mask[0, 0])] == [40, 5, 2, 2]
    x = torch.arange(105.0).view(3, 5, 7)
    torch._dynamo.reset()
    found = explain(function, x, mask, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    torch.testing.assert_close(found.result, function(x, mask), rtol=0, atol=0)


@pytest.mark.parametrize("target", TARGETS)
def test_every_type(target: str) -> None:
    """A sum of bools says whether any is true."""

    def function(inputs: list[Tensor], mask: Tensor) -> list[Tensor]:
        many = torch.arange(40)
        return [
            t
            for x in inputs
            for t in (
                assigned(x, mask, value=3),
                x.index_put((mask,), many.to(x.dtype), accumulate=True),
                x.index_put((mask[:, :, 0],), x[0, 0], accumulate=True),
            )
        ]

    numbers = torch.arange(105).view(3, 5, 7) % 50
    inputs, mask = [numbers.to(getattr(torch, name)) for name in NAMES], counted_mask()
    torch._dynamo.reset()
    found = explain(function, inputs, mask, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    torch.testing.assert_close(found.result, function(inputs, mask), rtol=0, atol=0)


@pytest.mark.parametrize("target", TARGETS)
def test_the_mask_counts_other_than_there_are_values(target: str) -> None:
    def function(x: Tensor, mask: Tensor, values: Tensor) -> Tensor:
        return x.index_put((mask,), values)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": target, "fallback": False})
    x, values = torch.zeros(4), torch.ones(2)
    assert compiled(x, torch.tensor([True, False, False, True]), values).tolist() == [1, 0, 0, 1]
    for mask in ([True] * 3 + [False], [True] + [False] * 3, [False] * 4):
        with pytest.raises(Exception, match="index out of range"):
            compiled(x, torch.tensor(mask), values)


def test_values_of_too_many_dimensions_are_an_error_of_aten() -> None:
    torch._dynamo.reset()
    x, mask = torch.arange(3.0), torch.tensor([True, False, True])
    compiled = torch.compile(
        lambda *args: torch.ops.aten.index_put(args[0], [args[1]], args[2]), backend="mlir"
    )
    with pytest.raises(Exception, match="shape mismatch"):
        compiled(x, mask, torch.ones(1, 2))


def test_one_select_is_one_kernel() -> None:
    """What is assigned at a mask of rows fuses with what is around it."""
    torch._dynamo.reset()

    def function(x: Tensor) -> Tensor:
        return assigned(x.exp(), x[:, 0] > 0, value=x[0] * 2).sin()

    x = torch.randn(9, 33, generator=torch.Generator().manual_seed(0))
    found = explain(function, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, function(x))
    assert found.kernels == 1


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8:UserWarning")
def test_gradients_symbols_and_bytes() -> None:
    def function(x: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return assigned(x * 2, mask, value=values * 3).square().sum()

    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend="mlir", dynamic=True, options={"target": "cpu_openmp", "fallback": False}
    )
    for n in (4, 6):
        mask = torch.arange(n) % 2 == 0
        gradients: list[Tensor] = []
        for call in (compiled, function):
            x = torch.arange(5.0 * n).view(n, 5).requires_grad_()
            call(x, torch.ones(n // 2, 5), mask).backward()
            assert x.grad is not None
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients)
    torch._dynamo.reset()
    x, mask = torch.arange(4.0), torch.tensor([0, 3, 1, 0], dtype=torch.uint8)
    put = torch.compile(
        lambda x, mask: torch.ops.aten.index_put(x, [mask], x[:1] + 9),
        backend="mlir",
        options={"target": "cpu_openmp", "fallback": False},
    )
    assert put(x, mask).tolist() == [0, 9, 9, 3]
