"""What eager mode does differently on each kind of device, where a graph is to do as it does.

What a graph computes, and which operators are left to ATen, may follow the device of its tensors: every such
fact is a field here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tilewright.passes.pipeline import LONGEST_SORT


@dataclass(frozen=True, kw_only=True)
class EagerFacts:
    """How ATen's kernels of one kind of device compute, and what they are good at."""

    sums_halves_in_f32: bool
    """`scatter_add`, and `index_add` along an outer side, round a sum or product of halves once."""
    sums_embedding_gradients_in_f32: bool
    """The gradient of a table is rounded once, not after each addition of a half."""
    sums_exponentials_in_f64: bool
    """`logcumsumexp` of f32 adds up in f64."""
    branches_along_rows: bool
    """`cummax` and `cummin` branch once an element: in long rows faster than two scans without branches."""
    longest_sort: int
    """Elements of the longest row that kernels sort; of 64 bits each, a quarter of that."""
    longest_selection: int
    """The same of `topk`, for all of a row at once."""
    selects_in_parts: bool
    """`topk` of longer rows is that of their parts, then of these; elsewhere ATen's."""
    adds_pooled_gradients: bool
    """The gradient of max pooling is added at the positions; elsewhere each element looks for its windows."""
    spreads_averages: bool
    """The gradient of averages of planes is ATen's; elsewhere each element looks for its windows."""
    adds_resized_gradients: bool
    """That of resized images is, at the elements that were read; elsewhere each looks for what reads it."""


GPUS = EagerFacts(
    sums_halves_in_f32=False,
    sums_embedding_gradients_in_f32=True,
    sums_exponentials_in_f64=False,
    branches_along_rows=False,
    longest_sort=LONGEST_SORT["gpu"],
    longest_selection=LONGEST_SORT["gpu"],
    selects_in_parts=True,
    adds_pooled_gradients=False,
    spreads_averages=False,
    adds_resized_gradients=False,
)
FACTS = {
    "cpu": EagerFacts(
        sums_halves_in_f32=True,
        sums_embedding_gradients_in_f32=False,
        sums_exponentials_in_f64=True,
        branches_along_rows=True,
        longest_sort=LONGEST_SORT["cpu"],
        longest_selection=1024,
        selects_in_parts=False,
        adds_pooled_gradients=True,
        spreads_averages=True,
        adds_resized_gradients=True,
    )
}
"""By torch device type; every other device is a GPU."""


def facts_of(device: torch.device) -> EagerFacts:
    """How eager mode computes on `device`."""
    return FACTS.get(device.type, GPUS)
