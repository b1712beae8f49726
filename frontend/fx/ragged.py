"""Ragged dimensions of nested tensors (`torch.jagged`): symbolic sizes that stand for no number.

AOTAutograd hands us the values and the offsets, of plain sizes, beside the length of the ragged dimension,
from which it makes the sizes of the nested results. So our code hardly ever needs it: it passes by @main,
and results may be multiples of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node

from tilewright.dialects.index_expr import Expr, Var, sym

from ..errors import UnsupportedSize
from ..torch_internals import is_ragged
from .graph import Multiple
from .locations import location_of, place_of

REASON = "it is the length of a ragged dimension, which is no number"


def check_ragged(nodes: Sequence[Node]) -> None:
    """Raise `UnsupportedSize` at the first operation that takes such a length, or makes a tensor of one."""
    for node in nodes:
        made = node.meta.get("val")
        if node.op != "call_function" or isinstance(made, torch.SymInt | torch.SymBool):
            continue
        sizes = [size for value in (made, *_values(node.all_input_nodes)) for size in _sizes(value)]
        for size in sizes:
            if isinstance(size, torch.SymInt) and is_ragged(size):
                raise UnsupportedSize(where=place_of(location_of(node)), size=size, reason=REASON)


def multiple_of(value: Expr, ragged: Mapping[Var, int]) -> Multiple | None:
    """A result that such a length is a factor of; None where there is none in it."""
    for var in filter(value.uses, ragged):
        factor = value.coefficient(var)
        if factor is None or factor * sym(var.index) != value or any(map(factor.uses, ragged)):
            raise UnsupportedSize(size=value, reason=REASON)
        return Multiple(ragged[var], factor)
    return None


def _values(nodes: Sequence[Node]) -> list[Any]:
    return [node.meta.get("val") for node in nodes]


def _sizes(value: Any) -> Sequence[Any]:
    if isinstance(value, tuple | list):
        return [size for part in value for size in _sizes(part)]  # pyright: ignore
    return value.shape if isinstance(value, torch.Tensor) else (value,)
