"""What `schedule-cpu` decides about a function, kept in its attributes until it is applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, UnitAttr, i64
from xdsl.ir import Attribute

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.attributes import MapAttr, map_attr
from tilewright.dialects.tk.kernels import FuncOp

KEEP = "tk.keep"
"""Unit attribute of an op: keep its value in scratch for later loops over the same elements."""
SCALAR = "tk.scalar"
"""Unit attribute of a store: the loops around it have no lanes."""


@dataclass(frozen=True)
class Plan:
    """How the loops of one function are to look.

    In the text: `tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 16>,
    tk.parallel = array<i64: 1>, tk.worth = #tk.map<"s0 - 100">, tk.unroll = array<i64: 4>,
    tk.tiles = array<i64: 1, 32>`.
    """

    order: tuple[int, ...]
    """Axes, outermost loop first."""
    vector: int | None = None
    """The axis of the lanes."""
    lanes: int = 1
    parallel: int = 0
    """So many leading axes of `order` become one parallel loop."""
    worth: Expr | None = None
    """Run in parallel where this is positive; always, if there is none."""
    unroll: int = 1
    """Independent accumulators of an innermost reduction loop."""
    tiles: tuple[tuple[int, int], ...] = ()
    """(axis, size): axis `rank + i` of `order` is the loop over the tiles of this axis."""
    turn: int | None = None
    """What is contiguous along this axis, and strides along the lanes, goes by way of turned scratch."""
    arrays: bool = False
    """Reductions over an outer loop keep one accumulator per inner element, in scratch."""

    def attributes(self) -> dict[str, Attribute]:
        """The discardable attributes that say this."""
        found: dict[str, Attribute] = {"tk.order": _array(self.order)}
        if self.vector is not None:
            found["tk.vector"] = _array((self.vector, self.lanes))
        if self.parallel:
            found["tk.parallel"] = _array((self.parallel,))
        if self.worth is not None and self.parallel:
            found["tk.worth"] = map_attr((self.worth,))
        if self.unroll > 1:
            found["tk.unroll"] = _array((self.unroll,))
        if self.tiles:
            found["tk.tiles"] = _array([n for tile in self.tiles for n in tile])
        if self.turn is not None:
            found["tk.turn"] = _array((self.turn,))
        if self.arrays:
            found["tk.arrays"] = UnitAttr()
        return found


_NAMES = ("tk.order", "tk.vector", "tk.parallel", "tk.worth", "tk.unroll", "tk.tiles", "tk.turn", "tk.arrays")


def _array(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def take_plan(func: FuncOp) -> Plan:
    """Read the plan of a function and remove it; without one, loops are scalar and in order."""
    found = {name: func.attributes.pop(name) for name in _NAMES if name in func.attributes}

    def numbers(name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        if name not in found:
            return default
        return ints(cast("DenseArrayBase[IntegerType]", found[name]))

    vector, tiles = numbers("tk.vector", ()), numbers("tk.tiles", ())
    turn = numbers("tk.turn", ())
    return Plan(
        order=numbers("tk.order", tuple(range(len(func.space)))),
        vector=vector[0] if vector else None,
        lanes=vector[1] if vector else 1,
        parallel=numbers("tk.parallel", (0,))[0],
        worth=cast(MapAttr, found["tk.worth"]).exprs[0] if "tk.worth" in found else None,
        unroll=numbers("tk.unroll", (1,))[0],
        tiles=tuple(zip(tiles[::2], tiles[1::2], strict=True)),
        turn=turn[0] if turn else None,
        arrays="tk.arrays" in found,
    )
