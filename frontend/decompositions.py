"""Which ATen operations are rewritten into simpler ones before import, as one table.

Everything here happens while AOTAutograd traces, so the cost is paid inside tracing.
Operations that have an op of their own in the `tw` dialect, or that a library runs
better as a whole (convolution, attention, embedding, matmul, pooling), stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch._ops import OperatorBase

from .torch_internals import Operator

Decomposition = Callable[..., Any]
Decompositions = dict[OperatorBase, Decomposition]

# Beyond torch._decomp.core_aten_decompositions(): composites that models use and that
# fuse well once they are taken apart.
EXTRA: tuple[str, ...] = (
    "_batch_norm_no_update",
    "_batch_norm_with_update",
    "_batch_norm_with_update_functional",
    "_log_softmax",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_softmax",
    "_to_copy",
    "addmv",
    "aminmax",
    "batch_norm_backward",
    "dist",
    "elu",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "linalg_vector_norm",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "permute_copy",
    "rrelu_with_noise_backward",
    "tril_indices",
    "triu_indices",
    "unbind_copy.int",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest2d",
)

# In the core table, but better kept whole.
KEPT: tuple[str, ...] = (
    "_scaled_dot_product_flash_attention_for_cpu.default",
    "clamp_max",
    "clamp_min",
    "rsub",
    "embedding_dense_backward",
    "sum.default",
    "fill.Scalar",
    "full_like",
    "zeros_like",
    "ones_like",
    "isin",
    "baddbmm",
)


def _overloads(name: str) -> list[Operator]:
    packet_name, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet_name, None)
    if packet is None:  # not in this release of torch
        return []
    return [getattr(packet, o) for o in packet.overloads() if overload in ("", o)]


def _native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is not None and not train:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    kept = torch.rand(x.shape, dtype=torch.float32, device=x.device) >= p
    return torch.where(kept, x * (1.0 / (1.0 - p)), 0.0), kept


def _bernoulli_p(x: Tensor, p: float = 0.5, *, generator: torch.Generator | None = None) -> Tensor:
    if generator is not None:
        return NotImplemented
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < p).to(x.dtype)


def _bernoulli(x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    if generator is not None:
        return NotImplemented
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < x).to(x.dtype)


def _random_like(draw: Callable[..., Tensor]) -> Decomposition:
    def decomposed(
        x: Tensor, *, dtype: torch.dtype | None = None, device: torch.device | None = None, **_: object
    ) -> Tensor:
        return draw(x.shape, dtype=dtype or x.dtype, device=device or x.device)

    return decomposed


def _own() -> Decompositions:
    aten = torch.ops.aten
    return {
        aten.native_dropout.default: _native_dropout,
        aten.bernoulli.p: _bernoulli_p,
        aten.bernoulli.default: _bernoulli,
        aten.rand_like.default: _random_like(torch.rand),
        aten.randn_like.default: _random_like(torch.randn),
    }


@cache
def decompositions() -> Decompositions:
    """The table for AOTAutograd; built once, on the first compile."""
    from torch._decomp import core_aten_decompositions
    from torch._decomp import get_decompositions as _known  # pyright: ignore[reportUnknownVariableType]

    get_decompositions = cast("Callable[..., Any]", _known)

    table: Decompositions = dict(core_aten_decompositions())
    wanted = [op for name in EXTRA for op in _overloads(name)]
    table.update(cast("Decompositions", get_decompositions(wanted)))
    for name in KEPT:
        for op in _overloads(name):
            table.pop(op, None)
    table.update(_own())
    return table
