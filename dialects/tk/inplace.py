"""Which inputs of a function share memory with which output, noted on it as `tk.inplace`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, i64
from xdsl.ir import Attribute, Operation

from ..attribute_facts import ints_in

ATTRIBUTE = "tk.inplace"


def attach(function: Operation, pairs: Sequence[tuple[int, int]]) -> None:
    """Note the pairs on a `tk.func`, which scheduling makes hard to see later."""
    if pairs:
        function.attributes[ATTRIBUTE] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in pairs])


def attached(function: Operation) -> list[tuple[int, int]]:
    """The pairs noted on a `tk.func`."""
    value = function.attributes.get(ATTRIBUTE)
    if not isinstance(value, ArrayAttr):
        return []
    pairs = [ints_in(pair) for pair in cast("ArrayAttr[Attribute]", value)]
    return [(pair[0], pair[1]) for pair in pairs if pair is not None]
