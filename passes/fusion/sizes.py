"""How long kernels have become while they are merged."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.dialects.tk.kernels import KernelOp

from .body import simplify_body


@dataclass
class KernelSizes:
    """Counts the ops of each kernel once, and merges its equal ops only where that can change an answer.

    A walk over a kernel for each of its parts would make long kernels cost the square of their length.
    """

    max_ops: int
    _ops: dict[KernelOp, int] = field(default_factory=dict[KernelOp, int])
    _untidy: dict[KernelOp, None] = field(default_factory=dict[KernelOp, None])
    """Kernels with loads of one element that several of their parts had."""

    def replaced(self, first: KernelOp, second: KernelOp, merged: KernelOp) -> None:
        """`merged` now stands for both."""
        for old in (first, second):
            self._untidy.pop(old, None)
        self._untidy[merged] = None

    def exceeded_by(self, first: KernelOp, second: KernelOp) -> bool:
        """True where both together have more than `max_ops` ops, equal ones counted once in each."""
        for kernel in (first, second):
            if self._count(first) + self._count(second) <= self.max_ops:
                return False
            if kernel in self._untidy:
                self._tidy(kernel)
        return self._count(first) + self._count(second) > self.max_ops

    def tidy_all(self) -> None:
        for kernel in list(self._untidy):
            self._tidy(kernel)

    def _tidy(self, kernel: KernelOp) -> None:
        del self._untidy[kernel]
        self._ops.pop(kernel, None)
        simplify_body(kernel)

    def _count(self, kernel: KernelOp) -> int:
        if kernel not in self._ops:
            self._ops[kernel] = len(kernel.body.block.ops)
        return self._ops[kernel]
