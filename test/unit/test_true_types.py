"""Types of a trace that says otherwise than the operator returns: as torch 2.11 traces attention of f64."""

from __future__ import annotations

import operator

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.true_types import correct_types

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
