"""What is found out once of an attribute: they never change, but are hashed and unpacked at each look."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import accumulate
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Attribute

A = TypeVar("A", bound=Attribute)
R = TypeVar("R")


def once(function: Callable[[A], R]) -> Callable[[A], R]:
    """`function`, whose result stays with the attribute that it was asked of.

    A cache beside attributes has to hash them, which xDSL does field by field, in Python.
    """
    key = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def ask(attribute: A) -> R:
        found: dict[str, Any] = attribute.__dict__  # pyright: ignore[reportAssignmentType]
        if key not in found:
            found[key] = function(attribute)
        return found[key]

    return ask


@once
def ints(array: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The integers of an array."""
    return tuple(array.get_values())


def ints_in(attribute: Attribute | None) -> tuple[int, ...] | None:
    """The integers of an array, None of anything else; `isa` makes a constraint for each look."""
    if not isinstance(attribute, DenseArrayBase):
        return None
    array = cast("DenseArrayBase[Any]", attribute)
    return ints(array) if isinstance(array.elt_type, IntegerType) else None


@once
def bounds_of_segments(sizes: DenseArrayBase[Any]) -> tuple[int, ...]:
    """Where each of the segments begins, and the last one ends: (0, 2, 3) of sizes 2 and 1."""
    return tuple(accumulate(ints(sizes), initial=0))
