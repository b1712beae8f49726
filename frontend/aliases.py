"""Which results of a graph are made outside of it, as views of others of its tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from tilewright.dialects.index_expr import product

from .dtypes import encode
from .strides import layout_of
from .symbols import Symbols
from .torch_internals import tracing_context


@dataclass(frozen=True)
class Base:
    """What a result is a view of: argument `index` of the graph or, where `of_output`, its output `index`."""

    index: int
    of_output: bool
    read_as: torch.dtype | None = None
    """The dtype that the result reads the memory as, where that is another one."""


def storage_of(fake: torch.Tensor) -> int:
    """What tells the memory of one traced tensor from that of another."""
    return fake.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]


def made_anew() -> Mapping[int, Base]:
    """The outputs of the forward graph being compiled that only lend their sizes, strides and offset.

    Where the sizes of a view are symbolic, AOTAutograd knows no other way to make it of the caller's tensor.
    """
    context = tracing_context()
    known = context.fw_metadata if context is not None else None
    if known is None or any(
        type(each).__name__ != "PlainTensorMeta"  # a tensor of several, which have other numbers
        for each in (*known.subclass_inp_meta, *known.subclass_fw_graph_out_meta)
    ):
        return {}
    first, count = known.num_mutated_inp_runtime_indices, len(known.output_info)
    found: dict[int, Base] = {}
    for i, info in enumerate(known.output_info):
        kind = info.output_type.name
        if kind == "alias_of_input":
            found[first + i] = Base(info.base_idx, False)
        elif kind.startswith("alias_of_intermediate"):
            beyond = 0 if kind.endswith("base_is_user_output") else count
            found[first + i] = Base(first + beyond + info.base_idx, True)
    return {i: base for i, base in found.items() if not (base.of_output and base.index in found)}


def other_readings(
    outputs: Sequence[Any], apart: Collection[int], views: Mapping[int, Base], symbols: Symbols
) -> Mapping[int, Base]:
    """The outputs in memory that outputs read as several dtypes (`x.view(torch.int32)` beside `x`).

    The first that is all of that memory is the base of the others. Memory in `apart` is not that of
    outputs; `views` are views already.
    """
    found: dict[int, dict[int, torch.Tensor]] = {}
    for i, output in enumerate(outputs):
        fake = output.meta.get("val") if isinstance(output, Node) and i not in views else None
        if isinstance(fake, torch.Tensor) and storage_of(fake) not in apart:
            found.setdefault(storage_of(fake), {})[i] = fake
    readings: dict[int, Base] = {}
    for sharing in found.values():
        if len({encode(fake).dtype for fake in sharing.values()}) > 1:
            base = next((i for i, fake in sharing.items() if _is_whole(fake, symbols)), None)
            if base is not None:
                others = {i: fake for i, fake in sharing.items() if outputs[i] is not outputs[base]}
                readings |= {i: Base(base, True, fake.dtype) for i, fake in others.items()}
    return readings


def _is_whole(fake: torch.Tensor, symbols: Symbols) -> bool:
    """Whether the elements are all of the memory, in some order of dimensions."""
    known = (fake.untyped_storage().nbytes(), fake.storage_offset(), *fake.shape, *fake.stride())
    if not all(symbols.knows(n) for n in known if type(n) is torch.SymInt):
        return False
    layout = layout_of(fake, symbols)
    nbytes, offset = symbols.exprs(known[:2])
    return offset.constant == 0 and layout.is_dense and product(layout.sizes) * fake.element_size() == nbytes
