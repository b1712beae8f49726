"""Attention is traced with tensors as torch's kernels for GPUs want them; `meta` stands for GPUs here."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch.nn.functional import scaled_dot_product_attention

from tilewright.frontend.decompositions.dense_attention import dense_attention
from tilewright.frontend.torch_internals import traced_as

_OP = torch.ops.aten.scaled_dot_product_attention.default


def heads(device: str = "meta") -> Tensor:
    return torch.randn(2, 3, 5, 8, device=device)


def given(*args: Any, **named: Any) -> tuple[Any, ...]:
    """What torch's own gets."""
    seen: list[Any] = []

    def own(*tensors: Any, **options: Any) -> Tensor:
        seen.extend((*tensors, options))
        return tensors[0]

    (row,) = dense_attention().values()
    row(own)(*args, **named)
    return tuple(seen)


def test_a_mask_that_is_repeated_for_all_keys_is_laid_out() -> None:
    q, k, v = heads(), heads(), heads()
    mask = torch.ones(2, 1, 5, 1, dtype=torch.bool, device="meta").expand(2, 3, 5, 5)
    *tensors, seen, dropout, options = given(q, k, v, mask, 0.0, is_causal=False)
    assert all(a is b for a, b in zip(tensors, (q, k, v), strict=True))
    assert seen.stride() == (75, 25, 5, 1)
    assert (dropout, options) == (0.0, {"is_causal": False})


def test_heads_whose_elements_are_apart_are_laid_out() -> None:
    apart = torch.randn(2, 3, 8, 5, device="meta").mT
    *tensors, mask, _ = given(apart, heads(), apart)
    assert [t.stride(-1) for t in tensors] == [1, 1, 1]
    assert mask is None


@pytest.mark.parametrize(
    ("dtype", "masked", "repeated"),
    [(torch.float32, False, True), (torch.bfloat16, False, False), (torch.bfloat16, True, True)],
    ids=str,
)
def test_shared_heads_are_repeated_unless_flash_attention_takes_them(
    dtype: torch.dtype, masked: bool, repeated: bool
) -> None:
    q, k, v = (torch.randn(2, n, 5, 8, device="meta", dtype=dtype) for n in (6, 2, 3))
    mask = torch.ones(5, 5, dtype=torch.bool, device="meta") if masked else None
    *tensors, _, options = given(q, k, v, mask, enable_gqa=True)
    assert [t.size(1) for t in tensors] == ([6, 6, 6] if repeated else [6, 2, 3])
    assert options == {"enable_gqa": not repeated}


class OnGpu(Tensor):
    """Numbers that say they are on a GPU."""

    device = torch.device("cuda")


def test_each_shared_head_stands_beside_itself() -> None:
    q, k, v = (torch.randn(2, n, 5, 8).as_subclass(OnGpu) for n in (6, 2, 2))
    (row,) = dense_attention().values()
    got = row(scaled_dot_product_attention)(q, k, v, enable_gqa=True)
    expected = scaled_dot_product_attention(*(t.as_subclass(Tensor) for t in (q, k, v)), enable_gqa=True)
    torch.testing.assert_close(got.as_subclass(Tensor), expected)


@pytest.mark.parametrize("heads", [4, 8, 6], ids=str)
def test_heads_that_are_not_shared_evenly_are_torch_s(heads: int) -> None:
    """More of keys than of queries, or no divisor of these: torch says what is wrong."""
    q, k = torch.randn(2, 6, 5, 8, device="meta"), torch.randn(2, heads, 5, 8, device="meta")
    _, key, *_, options = given(q, k, k, enable_gqa=True)
    assert (key.size(1), options) == (heads, {"enable_gqa": True})


def test_tensors_of_the_cpu_stay_as_they_are() -> None:
    q = heads("cpu").mT.contiguous().mT
    mask = torch.ones(5, 1, dtype=torch.bool).expand(5, 5)
    assert all(a is b for a, b in zip(given(q, q, q, mask), (q, q, q, mask), strict=False))


@pytest.mark.parametrize("masked", [False, True])
def test_torch_computes_the_same_while_it_is_traced(masked: bool) -> None:
    """By its own function in C++, with gradients; the table is as it was afterwards."""
    q, k, v = (heads("cpu").requires_grad_() for _ in range(3))
    mask = torch.rand(5, 1).lt(0.8).expand(5, 5) if masked else None
    expected = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    before = dict(_OP.py_kernels)
    with enable_python_dispatcher(), traced_as(dense_attention()):
        assert _OP.py_kernels != before
        got = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert _OP.py_kernels == before
    torch.testing.assert_close(got, expected)
    gradients = torch.autograd.grad(got.sum(), (q, k, v)), torch.autograd.grad(expected.sum(), (q, k, v))
    torch.testing.assert_close(*gradients)
