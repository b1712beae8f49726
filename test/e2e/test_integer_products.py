"""Products of int8 on CPUs: exact, by one call of the library."""

from __future__ import annotations

import pytest
import torch

SIZES = ((37, 71, 53), (16, 300, 24), (5, 3, 7), (0, 16, 8), (8, 0, 9))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_integers_are_exact(sizes: tuple[int, int, int], turned: bool) -> None:
    m, k, n = sizes
    generator = torch.Generator().manual_seed(0)
    x, w = (
        torch.randint(-128, 128, shape, generator=generator, dtype=torch.int8)
        for shape in ((m, k), (n, k) if turned else (k, n))
    )
    w = w.t() if turned else w
    torch._dynamo.reset()
    got = torch.compile(torch._int_mm, backend="mlir", options={"fallback": False})(x, w)
    assert got.dtype == torch.int32
    assert torch.equal(got, (x.long() @ w.long()).int())
