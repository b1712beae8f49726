"""Positions that follow from counted ones and numbers, as numbers: runs of them are slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arrays import Array
from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import parse_expr
from tilewright.dialects.semantics import semantics_of
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.creation import ConstantOp, FullOp, IotaOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import has_symbolic_size, numel_of

from .fold_constants import VIEWS, reference_machine

_LONGEST = 4096
"""Elements of which numbers are worked out, a few of each op."""
_MOST_IN_RUNS = 256
"""Numbers of which all runs are compared: as many as their square."""


@dataclass(frozen=True)
class Listed:
    """An index whose elements are `places` along its dimension `dim`, and repeat along all others."""

    dim: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """So many numbers in equal steps; of one that stands alone the step is 1."""

    first: int
    step: int
    length: int

    @property
    def lowest(self) -> int:
        return min(self.first, self.first + self.step * (self.length - 1))


@dataclass(frozen=True)
class Repeated:
    """Numbers that are counted one by one, each so many times in turn."""

    first: int
    count: int
    times: int


def repeated(numbers: Sequence[int]) -> Repeated | None:
    """What `numbers` are, None of others."""
    first = numbers[0]
    times = next((i for i, number in enumerate(numbers) if number != first), len(numbers))
    counted = all(number == first + i // times for i, number in enumerate(numbers))
    return Repeated(first, len(numbers) // times, times) if counted and len(numbers) % times == 0 else None


@dataclass(frozen=True)
class Clamped:
    """`first + step * i`, but none below `low` or above `high`."""

    first: int
    step: int
    low: int
    high: int


def clamped(numbers: Sequence[int]) -> Clamped | None:
    """Numbers in equal steps from end to end, but for those that would go beyond the least or the largest."""
    middle = len(numbers) // 2
    step = numbers[middle] - numbers[middle - 1]
    found = Clamped(numbers[middle] - step * middle, step, min(numbers), max(numbers))
    steps = (found.first + step * i for i in range(len(numbers)))
    same = all(n == max(found.low, min(found.high, s)) for n, s in zip(numbers, steps, strict=True))
    return found if same else None


def listed(index: SSAValue) -> Listed | None:
    """What `index` holds, if that is known and varies along one dimension."""
    owner = index.owner
    if isinstance(owner, BroadcastOp) and (inner := listed(owner.source)) is not None:
        return Listed(ints(owner.dims)[inner.dim], inner.places)
    found = _Evaluator().of(index)
    if found is None or found.size == 0:
        return None
    varying = [dim for dim in range(found.ndim) if (found != found.take([0], dim)).any()]
    if len(varying) != 1:
        return None
    row = found.swapaxes(varying[0], -1).reshape(-1, found.shape[varying[0]])[0]
    return Listed(varying[0], tuple(int(place) for place in row))


def runs(numbers: Sequence[int]) -> list[Run]:
    """All of `numbers`, in order, in as few runs as there can be, of which most count one by one.

    Of very many, each is a run.
    """
    if len(numbers) > _MOST_IN_RUNS:
        return [Run(number, 1, 1) for number in numbers]
    behind: list[tuple[int, int, list[Run]]] = [(0, 0, [])]
    for start in reversed(range(len(numbers))):
        found = [(run, behind[-run.length]) for run in _from(numbers, start)]
        behind.append(
            min(
                ((1 + many, odd + (run.step != 1), [run, *rest]) for run, (many, odd, rest) in found),
                key=lambda choice: choice[:2],
            )
        )
    return behind[-1][2]


def _from(numbers: Sequence[int], start: int) -> Iterator[Run]:
    """The runs that begin at `start`, from the shortest on."""
    yield Run(numbers[start], 1, 1)
    step = numbers[start + 1] - numbers[start] if start + 1 < len(numbers) else 0
    for length in range(2, len(numbers) - start + 1):
        if step == 0 or numbers[start + length - 1] != numbers[start] + step * (length - 1):
            return
        yield Run(numbers[start], step, length)


@dataclass
class _Evaluator:
    """The elements of small tensors, by the reference semantics; None where they depend on anything."""

    found: dict[SSAValue, Array | None] = field(default_factory=dict[SSAValue, "Array | None"])

    def of(self, value: SSAValue) -> Array | None:
        if value not in self.found:
            self.found[value] = self._evaluated(value)
        return self.found[value]

    def _evaluated(self, value: SSAValue) -> Array | None:
        op, count = value.owner, numel_of(value)
        if not isinstance(op, Operation) or has_symbolic_size(value) or (count or 0) > _LONGEST:
            return None
        if isinstance(op, IotaOp):
            if any(parse_expr(text.data).constant is None for text in (op.start, op.step)):
                return None
        elif isinstance(op, FullOp):
            if not isinstance(op.value, IntegerAttr | FloatAttr):
                return None  # an expression of symbols
        elif not isinstance(op, ConstantOp) and not (op.has_trait(Elementwise) or isinstance(op, VIEWS)):
            return None
        args = [self.of(operand) for operand in op.operands]
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        try:
            return semantics_of(op)(op, known, reference_machine())[0]
        except (ZeroDivisionError, IndexError):
            return None
