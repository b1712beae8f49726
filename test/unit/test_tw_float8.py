"""The reference semantics of 8-bit floats against torch's own: all 256 patterns."""

from __future__ import annotations

import pytest
import torch
from tw_harness import check

from tilewright.dialects.float8 import FORMATS
from tilewright.dialects.tw.float8 import DecodeFloat8Op
from tilewright.dialects.types import FLOAT8


@pytest.mark.parametrize("kind", FLOAT8)
def test_decode(kind: str) -> None:
    bits = torch.arange(-128, 128, dtype=torch.int8)
    wanted = bits.view(getattr(torch, f"float8_{kind}")).to(torch.float32)
    check([bits], lambda v: DecodeFloat8Op(v[0], kind), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("kind", FLOAT8)
def test_signs_of_zero(kind: str) -> None:
    bits = torch.arange(256, dtype=torch.uint8).view(getattr(torch, f"float8_{kind}"))
    values = torch.tensor(FORMATS[FLOAT8[kind]].values)
    number = ~values.isnan()
    assert torch.equal(values[number].signbit(), bits.float()[number].signbit())
