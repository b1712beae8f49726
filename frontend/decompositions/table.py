"""Which ATen operations are rewritten into simpler ones before import, as one table.

Everything here happens while AOTAutograd traces, so the cost is paid inside tracing.
Operations that have an op of their own in the `tw` dialect, or that a library runs
better as a whole (convolution, attention, embedding, matmul, pooling), stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch.nn import functional
from torch.nn.functional import linear

from ..aten import foreign_rows
from ..operators import dropout_attention
from ..torch_internals import Operator, is_dense, known_to_differ, promoted_dtype
from .antialiasing import resizings
from .composites import composites
from .distances import distance_functions
from .fake_quantization import fake_quantizations
from .fractional_pooling import fractional_poolings
from .grid_sampling import samplings
from .histograms import histograms
from .order_statistics import order_statistics
from .pooling import poolings
from .quantization import quantizations
from .random_numbers import random_numbers
from .special_functions import special_functions
from .windows import windows

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
    "ldexp.Tensor",
    "leaky_relu",
    "linalg_vector_norm",
    "narrow_copy",
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
    "all",
    "clamp_max",
    "clamp_min",
    "rsub",
    "embedding_dense_backward",
    "index_add.default",
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


def _encoder_layer(
    x: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """The fused layer of nn.TransformerEncoder. Where `mask` is true or not 0, keys are hidden.

    It is `[L, L]` (0 as `mask_type`), `[B, L]`, of keys (1), or `[B, H, L, L]`. Rows that see no key are NaN.
    """
    if x.is_nested:
        return NotImplemented
    hidden = mask if mask is None else mask.to(torch.bool)
    if hidden is not None and mask_type == _OF_KEYS:
        hidden = hidden[:, None, None, :]

    def attend(value: Tensor) -> Tensor:
        qkv = linear(value, qkv_weight, qkv_bias)
        qkv = qkv.view(*value.shape[:2], 3, num_heads, embed_dim // num_heads)
        parts = qkv.permute(2, 0, 3, 1, 4)
        seen = hidden if hidden is None else ~hidden
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=seen)
        if hidden is not None:
            mixed = mixed.masked_fill(hidden.all(-1, keepdim=True), math.nan)
        return linear(mixed.transpose(1, 2).flatten(2), proj_weight, proj_bias)

    def feed_forward(value: Tensor) -> Tensor:
        activation = functional.gelu if use_gelu else functional.relu
        return linear(activation(linear(value, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2)

    def first_norm(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second_norm(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = x + attend(first_norm(x))
        return x + feed_forward(second_norm(x))
    x = first_norm(x + attend(x))
    return second_norm(x + feed_forward(x))


_OF_KEYS = 1
"""`mask_type` of a mask of keys (attention.cpp)."""
_LSTM = 2
"""`mode` of an LSTM (ideep's rnn_kind)."""
_MOST_STEPS = 256


def _lstm_layer(
    x: Tensor,
    input_weight: Tensor,
    hidden_weight: Tensor,
    input_bias: Tensor,
    hidden_bias: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
    batch_sizes: list[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One direction of one LSTM layer over `[steps, batch, features]`, step by step.

    i, f, g, o = split(x W_ih' + b_ih + h W_hh' + b_hh); c = sigmoid(f) c + sigmoid(i) tanh(g);
    h = sigmoid(o) tanh(c), as torch.nn.LSTM documents it.
    """
    single = num_layers == 1 and not (train or bidirectional or batch_first or batch_sizes)
    known = isinstance(x.shape[0], int)  # pyright: ignore[reportUnnecessaryIsInstance]
    if mode != _LSTM or not single or not known or x.shape[0] > _MOST_STEPS:
        return NotImplemented
    gates_of_x = linear(x, input_weight, input_bias + hidden_bias if has_biases else None)
    h, c = hidden[0], cell[0]
    outputs: list[Tensor] = []
    for gates_of_step in reversed(gates_of_x.unbind(0)) if reverse else gates_of_x.unbind(0):
        i, f, g, o = (gates_of_step + linear(h, hidden_weight)).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    steps = torch.stack(outputs[::-1] if reverse else outputs)
    return steps, h.unsqueeze(0), c.unsqueeze(0), x.new_empty(0)


def _own() -> Decompositions:
    aten = torch.ops.aten
    return {
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
        aten.mkldnn_rnn_layer.default: _lstm_layer,
        **composites(),
        **random_numbers(),
        **poolings(),
        **fractional_poolings(),
        **samplings(),
        **special_functions(),
        **order_statistics(),
        **histograms(),
        **fake_quantizations(),
        **distance_functions(),
        **resizings(),
        **windows(),
        **dropout_attention.decompositions(),
    }


def decompositions() -> Decompositions:
    """The table for AOTAutograd: operators for which a plug-in has a row stay whole."""
    table = _table() | quantizations()  # of a library that may be loaded at any time
    rows = foreign_rows()
    return {op: how for op, how in table.items() if str(op) not in rows} if rows else table


@cache
def _table() -> Decompositions:
    """Built once, on the first compile."""
    from torch._decomp import core_aten_decompositions
    from torch._decomp import get_decompositions as _known  # pyright: ignore[reportUnknownVariableType]

    get_decompositions = cast("Callable[..., Any]", _known)

    table: Decompositions = dict(core_aten_decompositions())
    wanted = [op for name in EXTRA for op in _overloads(name)]
    table.update(cast("Decompositions", get_decompositions(wanted)))
    for name in KEPT:
        for op in _overloads(name):
            table.pop(op, None)
    for op in _overloads("select_scatter.default"):
        table[op] = _of_target_dtype(table[op])
    for op in _overloads("block_diag.default"):
        table[op] = _of_promoted_dtype(table[op])
    table.update(_own())
    return table


def _of_target_dtype(known: Decomposition) -> Decomposition:
    """torch's decomposition promotes and broadcasts; its kernel converts, and wants a source of one shape.

    Where memory has gaps its result has them, too, and `as_strided` may look at them: it stays whole.
    """

    def decomposed(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
        sizes = list(x.shape)
        del sizes[dim]
        if known_to_differ(source.shape, sizes) or not is_dense(x):
            return NotImplemented
        return known(x, source.to(x.dtype), dim, index)

    return decomposed


def _of_promoted_dtype(known: Decomposition) -> Decomposition:
    """torch's decomposition counts a tensor without dimensions for as much as others; its kernel does not."""

    def decomposed(tensors: Sequence[Tensor]) -> Tensor:
        dtype = promoted_dtype(tensors)
        return known([tensor.to(dtype) for tensor in tensors])

    return decomposed
