"""Whether two parts of one piece of memory have no element in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
        if self.bounds[0] > other.bounds[1] or other.bounds[0] > self.bounds[1]:
            return True
        steps = (*self.steps, *other.steps)
        if any(count == 0 for _, count in steps):
            return True
        return any(
            self._apart(other, modulus) for modulus in sorted({abs(step) for step, _ in steps if step})
        )

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest place, of a region of some elements."""
        return self._span(None)

    def _apart(self, other: Region, modulus: int) -> bool:
        """Whether no difference of two places is a multiple of the modulus."""
        (low, high), (least, most) = self._span(modulus), other._span(modulus)
        return (most - low) // modulus * modulus < least - high

    def _span(self, modulus: int | None) -> tuple[int, int]:
        """The least and the largest place, without the steps that are multiples of the modulus."""
        ways = [step * (count - 1) for step, count in self.steps if modulus is None or step % modulus]
        return self.first + sum(w for w in ways if w < 0), self.first + sum(w for w in ways if w > 0)


def apart(one: Region | None, other: Region | None) -> bool:
    """Whether two parts are known to have no element in common."""
    return one is not None and other is not None and one.disjoint(other)
