"""Which inputs of a function share memory with which output, noted on it as `tk.inplace`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, i64
from xdsl.ir import Operation

from ..attribute_facts import ints

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
    pairs = [ints(pair) for pair in cast("ArrayAttr[DenseArrayBase[IntegerType]]", value)]
    return [(i, o) for i, o in pairs]
