"""Whether kernels that are merged have become too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.ir_access import operands_of, ops_of, type_of
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import simplify_body
from .contents import Bodies, Contents

_KEPT = 128
"""Kernels of which is known what they compute: one and those that it reads. Most others are merged since."""


def computed_of(op: Operation, operands: Sequence[object]) -> tuple[object, ...]:
    """What `op` computes of `operands`, whatever stands for these: equal where two ops compute the same."""
    attributes = frozenset((*op.properties.items(), *op.attributes.items()))
    return (type(op), tuple(operands), attributes, tuple(map(type_of, op.results)))


@dataclass
class SizesTogether:
    """How many ops two kernels have together, where those that compute the same of the same are one.

    Axes count by their numbers, which may stand for others in the other kernel: a size, not a proof.
    A kernel is walked once until it changes, however many others it is counted with.
    """

    bodies: Bodies
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    """Of what ops compute: its number stands for it where it is an operand."""
    _known: dict[KernelOp, _Computed] = field(default_factory=dict[KernelOp, "_Computed"])

    def of(self, first: KernelOp, second: KernelOp) -> int:
        return len(self._computed_by(first) | self._computed_by(second))

    def _computed_by(self, kernel: KernelOp) -> frozenset[int]:
        contents, inputs = self.bodies.of(kernel), operands_of(kernel)
        known = self._known.get(kernel)
        if known is None or known.contents is not contents or known.inputs != inputs:
            known = self._known[kernel] = _Computed(contents, inputs, self._number_ops_of(kernel))
            if len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        return known.numbers

    def _number_ops_of(self, kernel: KernelOp) -> frozenset[int]:
        meant: dict[SSAValue, object] = dict(zip(kernel.sources, operands_of(kernel), strict=True))
        numbers: set[int] = set()
        for op in ops_of(kernel.body.block):
            key = computed_of(op, [meant.get(value, value) for value in operands_of(op)])
            number = self._numbers.setdefault(key, len(self._numbers))
            numbers.add(number)
            for at, result in enumerate(op.results):
                meant[result] = (number, at)
        return frozenset(numbers)


@dataclass(frozen=True)
class _Computed:
    """Holds while a kernel has these contents and inputs."""

    contents: Contents
    inputs: tuple[SSAValue, ...]
    numbers: frozenset[int]


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
