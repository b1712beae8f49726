"""Weights of few bits are unpacked where a product reads them: one kernel, which reads each byte once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from drawn import positions, tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor
from torch.nn import functional

from benchmarks.numerics import judge

COLUMNS = 77


def nibbles(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Two numbers of 4 bits a byte, in groups of 32."""
    low, high = (packed & 0xF).to(x.dtype) - 8, (packed >> 4).to(x.dtype) - 8
    groups = torch.stack((low, high), -1).flatten(1).unflatten(1, (-1, 32))
    return x @ (groups * scales[..., None]).flatten(1).t()


def by_table(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Dettmers et al., "QLoRA": numbers of 4 bits are places of a table."""
    table = torch.linspace(-1, 1, 16, dtype=x.dtype, device=x.device)
    places = torch.stack((packed >> 4, packed & 0xF), -1).flatten(1).to(torch.int32)
    return x @ (table[places].unflatten(1, (-1, 32)) * scales[..., None]).flatten(1).t()


def by_exponents(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Numbers of 4 bits, and powers of two for groups of them (MXFP4)."""
    table = torch.linspace(-1, 1, 16, dtype=x.dtype, device=x.device)
    values = torch.stack((table[(packed & 0xF).long()], table[(packed >> 4).long()]), -1).flatten(1)
    exponents = (scales * 4).to(torch.int32)[..., None]
    return x @ torch.ldexp(values.unflatten(1, (-1, 32)).float(), exponents).flatten(1).to(x.dtype).t()


def ternary(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Ma et al., "The Era of 1-bit LLMs": four numbers of 2 bits a byte."""
    parts = [(packed[:, : packed.shape[1] // 2] >> (2 * i)) & 3 for i in range(4)]
    return functional.silu((x @ (torch.stack(parts, -1).flatten(1).to(x.dtype) - 1).t()) * scales[:, 0])


def words(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Eight numbers of 4 bits, one row below the other, in an i32 (Frantar et al., "GPTQ")."""
    shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
    weights = ((packed[:, None] >> shifts[None, :, None]) & 0xF).flatten(0, 1).to(x.dtype)
    return x @ ((weights.unflatten(0, (-1, 32)) - 7) * scales.t()[:, None]).flatten(0, 1)


def of_bytes(x: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    """Of 8 bits, with a scale for each group."""
    weights = packed.view(torch.int8).to(x.dtype).unflatten(1, (-1, 16)) * scales[..., None]
    return x[:, : packed.shape[1]] @ weights.flatten(1).t()


CASES: dict[str, Callable[..., Tensor]] = {
    f.__name__: f for f in (nibbles, by_table, by_exponents, ternary, words, of_bytes)
}


@pytest.mark.parametrize("rows", [1, 5, 16])
@pytest.mark.parametrize("name", CASES)
def test_one_kernel_unpacks_and_multiplies(name: str, rows: int, gpu: EmulatedGpu) -> None:
    x, scales = tensor(rows, 160, dtype=torch.bfloat16), tensor(COLUMNS, 5, dtype=torch.bfloat16)
    packed = positions(256, COLUMNS, 80).to(torch.uint8)
    if name == "words":
        packed = positions(2**31, 20, COLUMNS, low=-(2**31)).to(torch.int32)
    torch.compiler.reset()
    ours = compiled(CASES[name])(x, packed, scales)
    truth = CASES[name](x.double(), packed, scales.double())
    verdict = judge(ours, CASES[name](x, packed, scales), truth)
    assert verdict, verdict.why
    assert len(gpu.launched()) == 1
