"""The reference semantics of bits read as other numbers against torch's own."""

from __future__ import annotations

import pytest
import torch
from tw_harness import check

from tilewright.dialects.tw.bits import BitcastOp


@pytest.mark.parametrize(("floats", "integers"), [(torch.float32, torch.int32), (torch.float64, torch.int64)])
def test_bits(floats: torch.dtype, integers: torch.dtype) -> None:
    numbers = torch.tensor([0.0, -0.0, 1.5, -2.75, torch.inf, 1e-310, 1e-42], dtype=floats)
    bits = numbers.view(integers)
    check([numbers], lambda v: BitcastOp(v[0]), bits)
    check([bits], lambda v: BitcastOp(v[0]), numbers, rtol=0, atol=0)
