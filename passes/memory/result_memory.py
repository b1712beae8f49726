"""What is said of the memory of results: which share it, and which may lie in any order."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from tilewright.dialects.attribute_facts import ints_in

MEMORY = "tw.memory"
"""Results of one number may share memory, but with no other result and no argument."""
FREE = "tw.free"
"""A result whose strides passes may choose: what the forward pass keeps for the backward pass."""
ORDER = "tw.order"
"""The order of dimensions, outermost first, that they chose for one; `tw.strides` says it, too."""


def attributes_of(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    """What is said of each of so many arguments or results."""
    return [dict(entry.data) for entry in attrs] if attrs is not None else [{} for _ in range(count)]


def result_attributes(function: FuncOp) -> list[dict[str, Attribute]]:
    """What is said of each result."""
    return attributes_of(function.res_attrs, len(function.function_type.outputs))


def order_of(attrs: Mapping[str, Attribute]) -> tuple[int, ...] | None:
    """The order that passes chose for the dimensions of a result, None where they chose none."""
    return ints_in(attrs.get(ORDER))


def memory_of(attrs: Mapping[str, Attribute]) -> int | None:
    """The number of the memory that a result shares with others, None where nothing is said of it."""
    number = attrs.get(MEMORY)
    return number.value.data if isinstance(number, IntegerAttr) else None
