"""Which results of a graph AOTAutograd makes anew, as views of others of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .torch_internals import tracing_context


@dataclass(frozen=True)
class Base:
    """What a result is a view of: argument `index` of the graph or, where `of_output`, its output `index`."""

    index: int
    of_output: bool


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
