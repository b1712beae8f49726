"""Results and gradients of compiled functions, judged against float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain


def judged_with_gradients(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], options: Mapping[str, Any]
) -> Explanation:
    """The result, and the gradients of its sum, are as close to float64 as eager's."""
    inputs = [x.requires_grad_() for x in inputs]
    wide = [x.detach().double().requires_grad_() for x in inputs]
    found = explain(function, *inputs, options=dict(options))
    got, wanted, truth = (
        [y, *torch.autograd.grad(y.sum(), given)]
        for y, given in ((found.result, inputs), (function(*inputs), inputs), (function(*wide), wide))
    )
    assert (verdict := judge(got, wanted, truth)), verdict.why
    return found
