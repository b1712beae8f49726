"""Which results of a function may share memory: `tw.memory`, a number."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

MEMORY = "tw.memory"
"""Results of one number may share memory, but with no other result and no argument."""


def attributes_of(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    """What is said of each of so many arguments or results."""
    return [dict(entry.data) for entry in attrs] if attrs is not None else [{} for _ in range(count)]


def result_attributes(function: FuncOp) -> list[dict[str, Attribute]]:
    """What is said of each result."""
    return attributes_of(function.res_attrs, len(function.function_type.outputs))


def memory_of(attrs: Mapping[str, Attribute]) -> int | None:
    """The number of the memory that a result shares with others, None where nothing is said of it."""
    number = attrs.get(MEMORY)
    return number.value.data if isinstance(number, IntegerAttr) else None
