"""Registers of chained products: what a program takes of each lane for a tile of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import arith

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.chains import Chain, Factors
from ...kernels.facts import Body
from ..chain_reach import MANY
from ..cost import estimate
from ..live import live_bits
from .factors import factor_type, is_loaded
from .limits import Limits

_ROOM, _ROOM_BESIDE_FACTORS, _ROOM_OF_WIDE_WARPS = 205, 170, 85
"""Registers of a lane for sums and scores, of 255; where matrix units take factors from registers, too; where
warps have 64 lanes."""
_DRAWING = 6
"""Registers that a random number takes while it is made, of each score."""
_REUSED = 0.8
"""Of the numbers that a step has live of each score, so many have a register at once."""
_PLACES = 8
"""Registers that hold places to load from, of each tile that three steps load beside factors, or places of
scores that a mask tells apart."""
_WAITING = 3
"""Registers of a score for what waits there: of two steps on their way and the one at work."""


@dataclass(frozen=True)
class ChainRoom:
    """Estimates for one function, of which what does not depend on a tile is found once."""

    func: FuncOp
    chain: Chain
    held: Mapping[int, int]
    """What a program holds of each row, by axis."""
    limits: Limits

    @property
    def room(self) -> int:
        """Registers of a lane that sums and scores may take."""
        if self.limits.from_shared:
            return _ROOM
        return _ROOM_OF_WIDE_WARPS if self.limits.lanes > 32 else _ROOM_BESIDE_FACTORS

    def taken(self, rows: int, step: int, lanes: int) -> float:
        """Registers of a lane, where so many go along the chain with `rows` by `step` scores."""
        chain, limits = self.chain, self.limits
        fragments = 0 if limits.from_shared else sum(self.held[f.axis] for f in chain.inner) // 2
        places = made = 0
        if limits.of_groups:
            # of a long chain, steps of which a mask hides nothing are a loop of their own
            masked = self._is_masked and estimate(self.func.space[chain.along]) < MANY * step
            places = _PLACES * (len(self._tile_loads) + masked)
            made = sum(self.held[factors.axis] for factors in self.computed)
        sums = rows * (columns(chain, self.held) + fragments + step * self._of_score) + step * made
        return max(sums / lanes + places, rows * self._of_row / lanes)

    @cached_property
    def _body(self) -> Body:
        return Body.of(self.func.body.block)

    @cached_property
    def _of_score(self) -> float:
        """Registers of each score in the loop."""
        live = live_bits(self._body, frozenset((self.chain.row, self.chain.along))) / 32
        waiting = [op for op in self._tile_loads if _waits_in_registers(op, self.chain)]
        several = len(waiting) if self.limits.lanes == 32 else 0
        return _REUSED * (live + draws(self.func) * _DRAWING) + _WAITING * several

    @cached_property
    def _of_row(self) -> float:
        """Registers of each row that is computed before the loop: turned queries."""
        if self.limits.lanes > 32:
            return 0
        left = [f for f in self.chain.inner if not is_loaded(f.left, factor_type(f.reduce, f.left, f.right))]
        bits = [live_bits(self._body, frozenset((self.chain.row, f.axis))) * self.held[f.axis] for f in left]
        return max(bits, default=0) / 32

    @cached_property
    def computed(self) -> list[Factors]:
        """The products whose right factor no load brings as it is multiplied."""
        return [
            f for f in self.chain.products if not is_loaded(f.right, factor_type(f.reduce, f.left, f.right))
        ]

    @cached_property
    def _tile_loads(self) -> list[LoadOp]:
        """What brings an element for each score: masks, biases."""
        loads = [op for op in self.func.body.block.ops if isinstance(op, LoadOp)]
        return [op for op in loads if {self.chain.row, self.chain.along} <= axes_of_exprs(op.subscripts)]

    @cached_property
    def _is_masked(self) -> bool:
        """Whether what becomes of a score depends on where it stands."""
        tests = [op for op in self._body.ops if isinstance(op, arith.CmpiOp)]
        return any({self.chain.row, self.chain.along} <= self._body.runs[op] for op in tests)


def _waits_in_registers(load: LoadOp, chain: Chain) -> bool:
    """Whether what is on its way waits in registers: shared memory takes four bytes at a time.

    (Of blocks of scores, as lists have them, there is one element for many.)
    """
    (place,) = load.map.exprs
    pitch, width = place.coefficient(Var("d", chain.row)), bytes_of(element_type(load.buffer.type))
    return pitch is not None and (pitch.constant is None or pitch.constant * width % 4 != 0)


def columns(chain: Chain, held: Mapping[int, int]) -> int:
    """Of all sums that a program keeps."""
    return sum(held[o.factors.axis] for o in chain.outer if o.factors is not None)


def widest(chain: Chain, held: Mapping[int, int]) -> int:
    """Elements of the longest side of a product beside rows and the chain."""
    return max(sum(held[axis] for axis in side) for side in chain.sides)


def draws(func: FuncOp) -> bool:
    """Whether random numbers are made."""
    return any(isinstance(op, RandomOp) for op in func.body.block.ops)
