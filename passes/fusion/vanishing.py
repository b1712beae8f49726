"""Kernels that need not run: what reads them can compute what they make while it waits for memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import loads_of
from .contents import Bodies, Contents
from .cost import body_cost, count, evaluations
from .inline import Producer, axis_values, producer_of
from .repeats import LAUNCH, affordable, computed, hidden, size_in_bytes

MOVED_AT_ONCE = 1 << 20
"""Bytes that a GPU moves in less time than it needs to begin a kernel."""


@dataclass(frozen=True)
class _Work:
    """What a reader computes for a kernel that is left out."""

    once: float = 0
    """For each element that it reads."""
    in_programs: float = 0
    """By all of its programs."""

    def __add__(self, other: _Work) -> _Work:
        return _Work(self.once + other.once, self.in_programs + other.in_programs)


@dataclass(frozen=True)
class _Answer:
    """What a reader that has not changed since computes for a result of a kernel."""

    kernel: Contents
    """What that kernel was when this was asked."""
    work: _Work | None
    """None where it cannot be computed."""


def vanishes(kernel: KernelOp, bodies: Bodies, tile: int) -> bool:
    """Whether each reader of its results can compute them again, and nobody needs them in memory.

    Of those that are not small, only such do as enlarge what they read, and give no reader more to read.
    """
    small = sum(size_in_bytes(result) for result in kernel.results) <= MOVED_AT_ONCE
    if not small and not (enlarges(kernel) and not any(_reads_more(r, kernel) for r in readers_of(kernel))):
        return False
    if any(not isinstance(reader, KernelOp) for reader in readers_of(kernel)):
        return False
    return can_be_made_again(kernel, bodies, tile)


def can_be_made_again(kernel: KernelOp, bodies: Bodies, tile: int) -> bool:
    """Whether each kernel that reads its results can compute them again, and has time for it.

    Each of many readers that may join a kernel asks this of all of them: `bodies` keeps the answers.
    """
    work: dict[KernelOp, _Work] = {}
    for result in reversed(kernel.results):  # what was made last is the most work
        uses = list(result.uses)
        if not uses:
            continue
        if isinstance(producer := producer_of(result), str):
            return False
        for use in uses:
            reader = use.operation
            assert isinstance(reader, KernelOp)
            again = _asked(producer, reader, use.index, bodies, tile)
            if again is None:
                return False
            more = work[reader] = work.get(reader, _Work()) + again
            if more.once > hidden(reader):
                return False
            if more.in_programs > LAUNCH and more.in_programs > affordable(reader):  # which is never less
                return False
    return True


def enlarges(kernel: KernelOp, times: int = 1) -> bool:
    """Whether it makes more than so many elements for each that it reads: pairs of rows and columns.

    Pieces of a list are read one beside the other: together they are as much as the list.
    """
    most = times * sum(count(sizes_of(value)) for value in kernel.inputs)
    return all(count(sizes_of(result)) > most for result in kernel.results)


def readers_of(kernel: KernelOp) -> list[Operation]:
    """Whatever reads results of a kernel, each once."""
    return list(dict.fromkeys(use.operation for result in kernel.results for use in result.uses))


def _reads_more(reader: Operation, kernel: KernelOp) -> bool:
    """Whether the inputs of `kernel` are more for it than the results."""
    now = {value for value in reader.operands if value.owner is kernel}
    then = {value for value in kernel.operands if value not in reader.operands}
    return sum(map(size_in_bytes, then)) > sum(map(size_in_bytes, now))


def _asked(producer: Producer, reader: KernelOp, operand: int, bodies: Bodies, tile: int) -> _Work | None:
    """What `reader` computes for a result or None; asked once until one of both changes."""
    kernel, known = bodies.of(producer.kernel), bodies.of(reader).answers
    question = (producer.value, operand, tile)
    answer = known.get(question)
    if not isinstance(answer, _Answer) or answer.kernel is not kernel:
        answer = known[question] = _Answer(kernel, _computed_again(producer, reader, operand, bodies, tile))
    return answer.work


def _computed_again(
    producer: Producer, reader: KernelOp, operand: int, bodies: Bodies, tile: int
) -> _Work | None:
    if bodies.of(reader).contraction is not None:
        return None
    loads = loads_of(reader.sources[operand])
    if any(isinstance(axis_values(producer, load, reader.space, checks=True), str) for load in loads):
        return None
    each = body_cost(producer.ops)
    return _Work(
        each * sum(evaluations(load.subscripts, reader.space) for load in loads),
        each * sum(computed(load, reader, tile) for load in loads),
    )
