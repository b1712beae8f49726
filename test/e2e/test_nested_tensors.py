"""Nested tensors (`torch.jagged`): results and gradients against eager, for batches of other lengths too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

Function = Callable[[Tensor, Tensor], Any]
BATCHES = (((3, 4), (2, 2)), ((2, 6, 1), (3, 3, 1)), ((5, 0), (1, 7)))
WEIGHT = torch.linspace(-1, 1, 35).reshape(7, 5).requires_grad_()


def heads(x: Tensor) -> Tensor:
    return x.unflatten(-1, (1, 5)).transpose(1, 2)


FUNCTIONS: dict[str, Function] = {
    "elementwise": lambda x, _: torch.relu(x).sin() * 2 + x,
    "linear": lambda x, _: F.linear(x, WEIGHT),
    "layer norm": lambda x, _: F.layer_norm(x, (5,)),
    "softmax": lambda x, _: x.softmax(-1),
    "sum": lambda x, _: x.sum(),
    "attention": lambda x, _: F.scaled_dot_product_attention(heads(x), heads(x), heads(x)),
    "two nested inputs": lambda x, y: (x * 2, y.exp()),
    "two of the same lengths": lambda x, _: x * torch.ones_like(x),
    "made of a plain tensor": lambda x, _: torch.nested.nested_tensor_from_jagged(
        x.values() * 2, x.offsets()
    ),
}


def nested(lengths: Sequence[int], seed: int) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    parts = [torch.randn(n, 5, generator=rng) for n in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)


def plain(value: Any) -> list[Tensor]:
    values = value if isinstance(value, tuple) else (value,)
    return [part for v in values for part in ([v.values(), v.offsets()] if v.is_nested else [v])]


def step(function: Function, lengths: tuple[Sequence[int], Sequence[int]]) -> list[Tensor]:
    """Results, and gradients of all that has one."""
    x, y = nested(lengths[0], 0), nested(lengths[1], 1)
    results = plain(function(x, y))
    loss = torch.stack([(r * r).sum() for r in results if r.requires_grad]).sum()
    gradients = torch.autograd.grad(loss, (x, y, WEIGHT), allow_unused=True)
    return [*results, *(part for g in gradients if g is not None for part in plain(g))]


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_as_in_eager_mode(name: str, target: str, recwarn: pytest.WarningsRecorder) -> None:
    torch._dynamo.reset()
    function = FUNCTIONS[name]
    compiled = torch.compile(function, backend="mlir", options={"target": target})
    for lengths in BATCHES:
        torch.testing.assert_close(step(compiled, lengths), step(function, lengths))
    assert not [w for w in recwarn if "TW" in str(w.message)]


@pytest.mark.parametrize("dynamic", [False, True])
def test_static_and_dynamic_sizes(dynamic: bool) -> None:
    torch._dynamo.reset()
    for name in ("linear", "two nested inputs"):
        compiled = torch.compile(FUNCTIONS[name], backend="mlir", dynamic=dynamic)
        for lengths in BATCHES:
            torch.testing.assert_close(step(compiled, lengths), step(FUNCTIONS[name], lengths))


def test_lengths_and_their_multiples_are_results() -> None:
    torch._dynamo.reset()

    def function(x: Tensor) -> tuple[Any, ...]:
        return x * 2, x.size(1), x.size(1) * 3, x.stride(0)

    compiled = torch.compile(function, backend="mlir")
    for lengths, _ in BATCHES:
        x = nested(lengths, 0)
        doubled, *sizes = compiled(x)
        torch.testing.assert_close(doubled.values(), x.values() * 2)
        assert sizes == [x.size(1), x.size(1) * 3, x.stride(0)]


@torch.library.custom_op("tilewright_tests::measured", mutates_args=())
def measured(x: Tensor, length: int) -> Tensor:
    return x + 2


@measured.register_fake
def _(x: Tensor, length: int) -> Tensor:
    return torch.empty_like(x)


def test_an_operation_of_a_length_runs_by_aten() -> None:
    torch._dynamo.reset()
    x = nested((3, 4), 0).detach()
    compiled = torch.compile(lambda x: measured(x.values(), x.size(1)) * 2, backend="mlir")
    with pytest.warns(UserWarning, match=r"(?s)TW1004: size `s\d+` .*test_nested_tensors.py.* no number"):
        found = compiled(x)
    torch.testing.assert_close(found, (x.values() + 2) * 2)
