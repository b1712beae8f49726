"""Timing several ways of computing one thing, in turns, so that noise hits all alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, quantiles
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The spread of some measurements."""
        if len(values) == 1:
            return Spread(values[0], values[0], values[0])
        low, median, high = quantiles(values, n=4, method="inclusive")
        return Spread(median, low, high)


@dataclass(frozen=True)
class Timings:
    """Seconds of one call, per contender and round; and how disturbed the machine was."""

    seconds: Mapping[str, list[float]]
    others: float
    """Processors that other processes kept busy meanwhile."""

    @property
    def rounds(self) -> int:
        """How often each contender was timed."""
        return min(len(taken) for taken in self.seconds.values())

    def spread(self, name: str) -> Spread:
        """How long one call of a contender takes."""
        return Spread.of(self.seconds[name])

    def speedup(self, name: str, over: str) -> Spread:
        """How many times faster `name` is than `over`, compared round by round."""
        pairs = zip(self.seconds[over], self.seconds[name], strict=True)
        return Spread.of([slow / fast for slow, fast in pairs])


def per_call(call: Callable[[], Any], repeats: int) -> float:
    """Seconds of one of some calls."""
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - began) / repeats


def interleave(
    contenders: Mapping[str, Callable[[], Any]],
    seconds: float,
    rounds: tuple[int, int] = (7, 500),
    per_call: Callable[[Callable[[], Any], int], float] = per_call,
) -> Timings:
    """Call the contenders in turns for about `seconds`, within the bounds on `rounds`.

    Each round starts with another contender. Calls under a millisecond are repeated
    within a round, so that the clock, `per_call`, does not matter.
    """
    names = list(contenders)
    repeats = {name: _repeats(contenders[name], per_call) for name in names}
    taken: dict[str, list[float]] = {name: [] for name in names}
    busy, began = _other_cpu_seconds(), time.perf_counter()
    number = 0
    while number < rounds[0] or (number < rounds[1] and time.perf_counter() - began < seconds):
        for offset in range(len(names)):
            name = names[(number + offset) % len(names)]
            taken[name].append(per_call(contenders[name], repeats[name]))
        number += 1
    others = (_other_cpu_seconds() - busy) / (time.perf_counter() - began)
    return Timings(taken, max(0.0, others))


def _repeats(call: Callable[[], Any], per_call: Callable[[Callable[[], Any], int], float]) -> int:
    call()
    call()
    return max(1, int(1e-3 / max(per_call(call, 1), 1e-7)))


def _other_cpu_seconds() -> float:
    """CPU seconds that other processes have used so far (0 where the system does not say)."""
    try:
        with open("/proc/stat") as file:
            ticks = [int(field) for field in file.readline().split()[1:9]]
    except OSError:
        return 0.0
    user, nice, system, _idle, _wait, irq, soft, steal = ticks
    total = (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
    return total - time.process_time()


def tree_cpu_seconds() -> float:
    """CPU seconds of this process and all its descendants, dead or alive."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile; its parent accounts for it
            continue
        parents[int(entry)] = int(fields[1])
        used[int(entry)] = sum(int(field) for field in fields[11:15]) / tick
    return sum(used[pid] for pid in used if _descends(pid, os.getpid(), parents))


def _descends(pid: int, ancestor: int, parents: Mapping[int, int]) -> bool:
    while pid in parents:
        if pid == ancestor:
            return True
        pid = parents[pid]
    return False


def geomean(values: Sequence[float]) -> float:
    """Geometric mean, no value clipped; NaN of nothing."""
    return geometric_mean(values) if values else float("nan")
