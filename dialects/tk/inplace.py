"""Which inputs of a function share memory with which output, noted on it as `tk.inplace`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, i64
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

ATTRIBUTE = "tk.inplace"


def attach(function: Operation, pairs: Sequence[tuple[int, int]]) -> None:
    """Note the pairs on a `tk.func`, which scheduling makes hard to see later."""
    if pairs:
        function.attributes[ATTRIBUTE] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in pairs])


def attached(function: Operation) -> list[tuple[int, int]]:
    """The pairs noted on a `tk.func`."""
    value: Attribute | None = function.attributes.get(ATTRIBUTE)
    if not isa(value, ArrayAttr[DenseArrayBase[IntegerType]]):
        return []
    pairs = [pair.get_values() for pair in value]
    return [(i, o) for i, o in pairs]
