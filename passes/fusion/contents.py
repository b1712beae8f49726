"""What fusion asks of a kernel's body, gathered in one walk and kept until the body changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Block, Operation

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.contraction import Contraction, find_contraction, find_matrix_vector
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.sort import SortOp

from ..kernels.body import combined_axes
from .written_out import axes_to_write_out

NEAR = 64
"""Elements so many that they stay in the nearest cache, whichever way they are read."""


@dataclass(frozen=True)
class Contents:
    """Holds until the body is changed."""

    block: Block
    ops: int
    loads: tuple[LoadOp, ...]
    stores: tuple[StoreOp, ...]
    over: frozenset[tuple[int, ...]]
    """The axes of each op that reduces, scans or sorts."""
    scans: bool
    sorts: bool
    folds: bool
    """Whether some op reduces: what it makes is there only when its axis was walked."""
    answers: dict[object, object] = field(default_factory=dict[object, object], compare=False)
    """What was found out about the body, by question, for those who would ask it often."""

    @cached_property
    def reduced(self) -> frozenset[int]:
        """Every axis that some op reduces, scans or sorts."""
        return frozenset(axis for axes in self.over for axis in axes)

    @property
    def uniform(self) -> bool:
        """All that reduce do so over the same axes."""
        return len(self.over) <= 1

    @cached_property
    def may_be_written_out(self) -> bool:
        """Whether `written_out` makes a copy without reductions."""
        kernel = self.block.parent_op()
        return len(self.over) == 1 and isinstance(kernel, KernelOp) and axes_to_write_out(kernel) is not None

    @cached_property
    def contraction(self) -> Contraction | None:
        """The matrix product that the body is, if it is one."""
        return find_contraction(self.block)

    @cached_property
    def tiled(self) -> bool:
        """Whether tiles sum it: products of matrices or images, a vector and a matrix packed in groups."""
        if find_contraction(self.block, shared_columns=True) is not None:
            return True
        product = find_matrix_vector(self.block)
        return product is not None and len(product.over) > 1


@dataclass
class Bodies:
    """The contents of kernels; whoever changes a body says so.

    A walk over a kernel for each of its parts would make long kernels cost the square of their length.
    """

    scans_join: bool = False
    """Where lanes scan together: elsewhere a loop that scans has no lanes, and would take those of others."""
    scatters_join: bool = False
    """Where lanes combine in memory: there a list may be scattered to several tensors at once."""
    column: int = NEAR
    """Elements of a column that are near when they are walked again."""
    parts: bool = False
    """Whether long reductions are split in parts later, which store what lies along them as they go."""
    far: bool = False
    """Whether results go through the memory of a device. Its lanes read in any order: a kernel may walk an
    axis backwards to line up with another. A maximum and the sum of exponentials below it are found in one
    pass later (`reduce-online`), where one kernel reduces both."""
    settled: bool = False
    """Whether all kernels had their chance to join what they read."""

    _known: dict[KernelOp, Contents] = field(default_factory=dict[KernelOp, Contents])

    def of(self, kernel: KernelOp) -> Contents:
        if (known := self._known.get(kernel)) is None:
            known = self._known[kernel] = _contents_of(kernel)
        return known

    def may_scan(self, first: Contents, second: Contents) -> bool:
        """Whether what scans in either may stand in one kernel with the other."""
        return self.scans_join or not (first.scans or second.scans)

    def changed(self, kernel: KernelOp) -> None:
        self._known.pop(kernel, None)

    def merged(
        self,
        parts: tuple[KernelOp, KernelOp],
        kernel: KernelOp,
        gone: Collection[Operation],
        reduced: frozenset[int],
    ) -> None:
        """`kernel` has the ops of both `parts` but those in `gone`; all that reduce do so over `reduced`."""
        first, second = (self._known.pop(part) for part in parts)
        if not (first.uniform and second.uniform):
            return  # each over axes of its own: looked at when asked for
        self._known[kernel] = Contents(
            kernel.body.block,
            first.ops + second.ops - len(gone),
            tuple([load for load in (*first.loads, *second.loads) if load not in gone]),
            tuple([store for store in (*first.stores, *second.stores) if store not in gone]),
            frozenset([tuple(sorted(reduced))] if reduced else []),
            scans=first.scans or second.scans,
            sorts=first.sorts or second.sorts,
            folds=first.folds or second.folds,
        )


def _contents_of(kernel: KernelOp) -> Contents:
    """One walk over the body."""
    loads: list[LoadOp] = []
    stores: list[StoreOp] = []
    over: set[tuple[int, ...]] = set()
    count, scans, sorts, folds = 0, False, False, False
    op = kernel.body.block.first_op
    while op is not None:
        count += 1
        if type(op) is LoadOp:
            loads.append(op)
        elif type(op) is StoreOp:
            stores.append(op)
        elif axes := combined_axes(op):
            over.add(axes)
            scans = scans or type(op) is ScanOp
            sorts = sorts or type(op) is SortOp
            folds = folds or type(op) not in (ScanOp, SortOp)
        op = op.next_op
    over_all = frozenset(over)
    return Contents(kernel.body.block, count, tuple(loads), tuple(stores), over_all, scans, sorts, folds)
