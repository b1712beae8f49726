"""Results share memory with arguments and with each other exactly where eager's do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

X = torch.arange(24.0).reshape(4, 6)


def storages(values: tuple[torch.Tensor, ...]) -> list[int]:
    """For each value the position of the first that shares its memory."""
    pointers = [value.untyped_storage().data_ptr() for value in values]
    return [pointers.index(pointer) for pointer in pointers]


def twice(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.exp()
    return y, y


CASES: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "clone": lambda x: (x.clone(), x.exp(), x.exp(), x.exp().clone()),
    "argument": lambda x: (x, x.t(), x + 1),
    "clone_of_view": lambda x: (x.t().clone(), x.t().contiguous(), x.contiguous()),
    "cast_to_same": lambda x: (x.float().clone(), x.to(torch.float32)),
    "no_ops": lambda x: (x + 0, x * 1, x.exp().view(-1).view(4, 6)),
    "twice": twice,
}


@pytest.mark.parametrize("name", CASES)
def test_results_alias_as_in_eager(name: str) -> None:
    torch._dynamo.reset()
    x, y = X.clone(), X.clone()
    with torch.no_grad():
        found = torch.compile(CASES[name], backend="mlir")(x)
        expected = CASES[name](y)
    assert storages((x, *found)) == storages((y, *expected))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()
    for a, b in zip(found, expected, strict=True):  # what a user may do next must not show elsewhere
        a.mul_(2)
        b.mul_(2)
    for a, b in zip((x, *found), (y, *expected), strict=True):
        torch.testing.assert_close(a, b)
