"""How long a matrix product takes with certain tiles, roughly: what its tiles are chosen by.

A multiprocessor holds as many programs at once as shared memory has room for their steps, and each step of
theirs takes the longest of three times: to multiply, to bring factors from the second-level cache, and to
wait for the first of the steps that are on their way. What comes after the sum is done once per tile.

The numbers are of an H100, fitted to 100 timings of 13 products (docs/decisions/gpu-products.md); their
ratios are about those of other GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

_FLOPS = 5.8e6
"""Of halves, per multiprocessor and microsecond."""
_BYTES, _BYTES_AT_ONCE = 77e3, 90e3
"""Of factors, per multiprocessor and microsecond; where all programs are resident at once."""
_LATENCY = 0.86
"""Microseconds between asking for a step's factors and having them."""
_START = 5.3
"""Microseconds of a launch whose programs have nothing to do."""
_STORED, _COSTLY = 2e-4, 1.15e-3
"""Microseconds of a warp per element of a tile: to store it; for each costly function of it."""
_BESIDE = 0.3
"""Of what comes after a sum, what is left where another program multiplies meanwhile."""
_FILLED, _WIDE, _FULL = 3, 64, 0.9
"""Programs of a multiprocessor, and sides of their tiles, from which on each fills the gaps of others; what
that leaves of the time."""
MOST_STAGES = 6
"""Steps of a sum beyond which waiting for memory is no longer what a program does."""
_STAGES = 3
"""Steps that are on their way or in use where there is room, however many programs there are; no more where a
program has several loops, of which compilers hold all places to load from."""


@dataclass(frozen=True)
class Work:
    """A product of `batches` matrices, and what it is computed by."""

    rows: int
    columns: int
    depth: int
    batches: int
    width: int
    """Bytes of an element of the factors, as matrix units take them."""
    brought: tuple[int, int]
    """Bytes that are loaded for an element of the left factor, and of the right one: several where it is
    computed of what several loads bring."""
    deep: int
    """Elements of the sum that one step takes."""
    costly: int
    """Functions of each sum, computed afterwards, that cost much."""
    sums: int
    """Loops that a program has one after the other."""
    cores: int
    shared: int
    """Bytes of shared memory of a program, and of a multiprocessor."""

    @property
    def is_narrow(self) -> bool:
        """Whether less is loaded of the larger factor than matrix units take of it."""
        return self.brought[self.columns >= self.rows] < self.width

    def programs(self, rows: int, columns: int) -> int:
        """How many there are with such tiles."""
        return -(-self.rows // rows) * -(-self.columns // columns) * self.batches

    def step(self, rows: int, columns: int) -> int:
        """Bytes that one step brings."""
        left, right = self.brought
        return (rows * left + columns * right) * self.deep

    def stages(self, rows: int, columns: int) -> int:
        """Steps that are on their way or in use: as many as fit beside the programs that share a
        multiprocessor, of which all are resident if three steps of each fit."""
        step = self.step(rows, columns)
        beside = max(1, min(self._each(rows, columns), self.shared // (_STAGES * step)))
        most = MOST_STAGES if self.sums == 1 else _STAGES
        wanted = max(_STAGES, min(most, self.shared // (beside * step), -(-self.depth // self.deep)))
        return max(1, min(wanted, self.shared // step))

    def microseconds(self, rows: int, columns: int, warps: int) -> float:
        """How long all takes."""
        each, stages = self._each(rows, columns), self.stages(rows, columns)
        resident = max(1, min(each, self.shared // (stages * self.step(rows, columns))))
        steps = -(-self.depth // self.deep)
        bytes_ = _BYTES_AT_ONCE if each == resident else _BYTES
        element = (_STORED + self.costly * _COSTLY) / warps

        def round_of(programs: int) -> float:
            flops = 2 * rows * columns * self.deep * programs * self.width / 2
            brought = self.step(rows, columns) * programs
            step = max(flops / _FLOPS, brought / bytes_, _LATENCY / max(1, stages - 1))
            return steps * step + element * rows * columns * (1 + _BESIDE * (programs - 1))

        rounds, rest = divmod(each, resident)
        taken = _START + rounds * round_of(resident) + (round_of(rest) if rest else 0.0)
        filled = _FILLED <= each == resident and min(rows, columns) >= _WIDE
        return taken * (_FULL if filled else 1.0)

    def _each(self, rows: int, columns: int) -> int:
        """How many programs the busiest multiprocessor has."""
        return -(-self.programs(rows, columns) // self.cores)
