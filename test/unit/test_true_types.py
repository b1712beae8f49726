"""Types of a trace that says otherwise than the operator returns: attention of f64, sums of bags of bf16."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.fx.true_types import correct_types

FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def attend(x: Tensor) -> tuple[Tensor, Tensor]:
    out, logsumexp = FORWARD(x, x, x)
    return out, logsumexp.detach()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_log_sum_exp_of_f64_is_f64(dtype: torch.dtype) -> None:
    gm = make_fx(attend, tracing_mode="fake")(torch.ones(1, 2, 5, 8, dtype=dtype))
    (attention,) = gm.graph.find_nodes(op="call_function", target=FORWARD)
    (taken,) = (n for n in attention.users if n.target is operator.getitem and n.args[1] == 1)
    (detached,) = taken.users
    out, logsumexp = attention.meta["val"]
    with logsumexp.fake_mode:
        traced = torch.empty_like(logsumexp, dtype=torch.float32)
    attention.meta["val"] = (out, traced)
    taken.meta["val"] = detached.meta["val"] = traced
    correct_types(gm)
    found = [attention.meta["val"][1], taken.meta["val"], detached.meta["val"]]
    assert {value.dtype for value in found} == {torch.float64 if dtype is torch.float64 else torch.float32}
    assert {value.stride() for value in found} == {logsumexp.stride()}


BAGS = torch.ops.aten._embedding_bag.default


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("scale", [None, 1, 2])
def test_bags_of_indices_are_left_out_as_by_the_kernel(
    dtype: torch.dtype, mode: int, padding: int, scale: int | None
) -> None:
    """`scale`: the stride of factors of the elements, which only sums have."""
    if scale is not None and mode:
        return
    given = torch.ones(5, scale, dtype=dtype)[:, 0] if scale is not None else None

    def bags(table: Tensor) -> tuple[Tensor, ...]:
        indices, offsets = torch.arange(5), torch.tensor([0, 3])
        return BAGS(table, indices, offsets, False, mode, False, given, False, padding)

    table = torch.ones(6, 4, dtype=dtype)
    gm = make_fx(bags, tracing_mode="fake", _allow_non_fake_inputs=True)(table)
    correct_types(gm)
    (node,) = gm.graph.find_nodes(op="call_function", target=BAGS)
    (taken,) = (n for n in node.users if n.target is operator.getitem and n.args[1] == 1)
    true = bags(table)[1]
    assert node.meta["val"][1].shape == taken.meta["val"].shape == true.shape


def test_sums_of_bags_of_bf16_and_their_gradients_are_those_of_eager() -> None:
    def function(table: Tensor, factors: Tensor) -> Tensor:
        indices, offsets = torch.tensor([4, 0, 1, 1, 3]), torch.tensor([0, 3])
        plain = F.embedding_bag(indices, table, offsets, mode="sum")
        return plain * F.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=factors)

    found: list[list[Tensor | None]] = []
    for call in (function, torch.compile(function, backend="mlir", fullgraph=True)):
        torch.manual_seed(0)
        given = [torch.randn(size, dtype=torch.bfloat16, requires_grad=True) for size in ((6, 4), (5,))]
        out = call(*given)
        out.sum().backward()
        found.append([out.detach(), *(x.grad for x in given)])
    torch.testing.assert_close(*found)
