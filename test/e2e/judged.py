"""Results and gradients of compiled functions, judged against float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain


def judged_with_what_changes(
    function: Callable[[Tensor, Tensor], Any], run: Callable[[Tensor, Tensor], Any], x: Tensor, other: Tensor
) -> None:
    """Results, `x`, and what lies between its elements, are as close to float64 as eager's."""
    whole = x._base if x._base is not None else x

    def leaves(*values: Any) -> list[Tensor]:
        return [leaf for leaf in torch.utils._pytree.tree_leaves(values) if leaf is not None]

    def ran(whole: Tensor) -> list[Tensor]:
        given = whole.as_strided(x.shape, x.stride(), x.storage_offset())
        return leaves(function(given, other.to(whole.dtype)), whole)

    wanted, exact = ran(whole.clone()), ran(whole.to(torch.float64, copy=True))
    found = leaves(run(x, other), whole)
    assert [v.dtype for v in found] == [v.dtype for v in wanted]
    assert (verdict := judge(found, wanted, exact)), verdict.why


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
