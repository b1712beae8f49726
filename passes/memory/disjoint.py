"""Whether two parts of one piece of memory have no element in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.dialects.index_expr import Expr, Var, dim

from .layouts import Layout


@dataclass(frozen=True)
class Region:
    """Elements at `first` and so many steps from there, `(step, count)` each, as they lie in memory."""

    first: int
    steps: tuple[tuple[int, int], ...]

    @staticmethod
    def of(layout: Layout) -> Region | None:
        """Where a tensor lies; None unless its numbers are known."""
        numbers = [(s.constant, n.constant) for s, n in zip(layout.strides, layout.sizes, strict=True)]
        known = [(step, count) for step, count in numbers if step is not None and count is not None]
        first = layout.offset.constant
        return None if first is None or len(known) != len(numbers) else Region(first, tuple(known))

    @staticmethod
    def at(subscript: Expr, sizes: Sequence[Expr]) -> Region | None:
        """The places of a subscript for all points of these axes; None unless it is linear in them."""
        first, steps = subscript, list[tuple[int, int]]()
        for axis, size in enumerate(sizes):
            step = subscript.coefficient(Var("d", axis))
            if step is None or step.constant is None or size.constant is None:
                return None
            if step.constant:
                steps.append((step.constant, size.constant))
                first = first - step * dim(axis)
        return None if first.constant is None else Region(first.constant, tuple(steps))

    def disjoint(self, other: Region) -> bool:
        """Whether no element is in both, as far as one modulus shows that.

        x[:, :3] and x[:, 3:] of rows of 8    3 to 7 is behind 0 to 2, modulo 8
        x[::2] and x[1::2]                    1 and 0, modulo 2 rows
        """
        if any(count == 0 for _, count in (*self.steps, *other.steps)):
            return True
        moduli = {abs(step) for step, _ in (*self.steps, *other.steps) if step}
        return any(self._apart(other, modulus) for modulus in (None, *sorted(moduli)))

    def _apart(self, other: Region, modulus: int | None) -> bool:
        """Whether no difference of two places is 0, or a multiple of the modulus."""
        (low, high), (least, most) = self._span(modulus), other._span(modulus)
        first, last = least - high, most - low
        if modulus is None:
            return not first <= 0 <= last
        return last // modulus * modulus < first

    def _span(self, modulus: int | None) -> tuple[int, int]:
        """The least and the largest place, without the steps that are multiples of the modulus."""
        ways = [step * (count - 1) for step, count in self.steps if modulus is None or step % modulus]
        return self.first + sum(min(w, 0) for w in ways), self.first + sum(max(w, 0) for w in ways)


def apart(one: Region | None, other: Region | None) -> bool:
    """Whether two parts are known to have no element in common."""
    return one is not None and other is not None and one.disjoint(other)
