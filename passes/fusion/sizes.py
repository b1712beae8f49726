"""Whether kernels that are merged have become too long."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from xdsl.ir import SSAValue

from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import simplify_body
from .contents import Bodies, Contents


def distinct_ops(first: KernelOp, second: KernelOp, most: float = inf) -> int:
    """How many ops both have together, where those that compute the same from the same operands are one.

    Axes count by their numbers, which may stand for others in the other kernel: a size, not a proof.
    Where there are more than `most`, only so many are counted that this is known.
    """
    seen: dict[tuple[object, ...], tuple[SSAValue, ...]] = {}
    meant: dict[SSAValue, SSAValue] = {}
    for kernel in (first, second):
        meant.update(zip(kernel.sources, kernel.operands, strict=True))
        for op in kernel.body.block.ops:
            attributes = frozenset((*op.properties.items(), *op.attributes.items()))
            operands = tuple(meant.get(value, value) for value in operands_of(op))
            key = (type(op), operands, attributes, tuple(result.type for result in op.results))
            known = seen.setdefault(key, tuple(op.results))
            meant.update(zip(op.results, known, strict=True))
            if len(seen) > most:
                return len(seen)
    return len(seen)


@dataclass
class SizesTogether:
    """`distinct_ops` of pairs that are met again while neither changes, as readers of a long kernel are."""

    bodies: Bodies
    most: float
    _known: dict[tuple[int, int], tuple[int, Contents, Contents]] = field(
        default_factory=dict[tuple[int, int], tuple[int, Contents, Contents]]
    )
    """By the identity of both contents, which are kept so that it stays theirs."""

    def of(self, first: KernelOp, second: KernelOp) -> int:
        one, other = self.bodies.of(first), self.bodies.of(second)
        if (known := self._known.get((id(one), id(other)))) is None:
            known = self._known[id(one), id(other)] = (distinct_ops(first, second, self.most), one, other)
        return known[0]


@dataclass
class KernelSizes:
    """Merges the equal ops of a kernel only where that can change an answer."""

    max_ops: int
    bodies: Bodies
    _untidy: dict[KernelOp, None] = field(default_factory=dict[KernelOp, None])
    """Kernels with loads of one element that several of their parts had."""

    def replaced(self, first: KernelOp, second: KernelOp, merged: KernelOp) -> None:
        """`merged` now stands for both."""
        for old in (first, second):
            self._untidy.pop(old, None)
        self._untidy[merged] = None

    def exceeded_by(self, first: KernelOp, second: KernelOp) -> bool:
        """True where both together have more than `max_ops` ops, equal ones counted once in each."""
        if self._count(first, second) <= self.max_ops:
            return False
        for kernel in (first, second):
            if kernel in self._untidy:
                self._tidy(kernel)
                if self._count(first, second) <= self.max_ops:
                    return False
        return True

    def tidy_all(self) -> None:
        for kernel in list(self._untidy):
            self._tidy(kernel)

    def _tidy(self, kernel: KernelOp) -> None:
        del self._untidy[kernel]
        simplify_body(kernel)
        self.bodies.changed(kernel)

    def _count(self, first: KernelOp, second: KernelOp) -> int:
        return self.bodies.of(first).ops + self.bodies.of(second).ops
