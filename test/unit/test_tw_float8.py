"""The reference semantics of 8-bit floats against torch's own: all 256 patterns."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch
from tw_harness import check

from tilewright.dialects.arrays import Arrays
from tilewright.dialects.float8 import FORMATS, encoded
from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
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


def numbers(kind: str) -> torch.Tensor:
    """All numbers of a kind, what lies halfway between two, the next f32 on either side, and the rest."""
    format_ = FORMATS[FLOAT8[kind]]
    at = torch.tensor([*(v for v in format_.values if abs(v) < inf), *format_.halfway])
    at = torch.cat([at, -at])
    near = [torch.nextafter(at, torch.tensor(end)) for end in (inf, -inf)]
    spread = torch.randn(1000, generator=torch.Generator().manual_seed(0)).mul(9).exp()
    return torch.cat([at, *near, spread, torch.tensor([0.0, -0.0, inf, -inf, 1e30, -1e30, 1e-40])])


@pytest.mark.parametrize("kind", FLOAT8)
def test_encode(kind: str) -> None:
    x, dtype = numbers(kind), getattr(torch, f"float8_{kind}")
    wanted = x.to(dtype)
    clamped = not wanted[x == 1e30].float().isnan().any() and kind != "e5m2"
    check([x], lambda v: EncodeFloat8Op(v[0], kind, clamped=clamped), wanted.view(torch.int8), rtol=0, atol=0)


@pytest.mark.parametrize("kind", FLOAT8)
@pytest.mark.parametrize("clamped", [False, True])
def test_what_is_too_large(kind: str, clamped: bool) -> None:
    format_ = FORMATS[FLOAT8[kind]]
    largest = format_.values[format_.largest]
    x = torch.tensor([1e30, inf, -inf, nan])
    beyond = largest if clamped else inf if format_.infinite else nan
    bits = encoded(Arrays(torch), x, format_, clamped=clamped)
    found = bits.view(getattr(torch, f"float8_{kind}")).float()
    torch.testing.assert_close(found, torch.tensor([beyond, beyond, -beyond, nan]), equal_nan=True)
