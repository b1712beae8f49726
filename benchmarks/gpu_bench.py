"""What all sections of `benchmarks.gpu` measure with: contenders in turns, by the events of the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.timing import Spread, Timings, interleave, per_call
from tilewright.passes.pipeline import pipeline_text

_KEPT = pipeline_text("gpu").replace("leave-products,", "")
"""With kernels of ours for all products of halves."""
BACKENDS: Mapping[str, Mapping[str, Any]] = {
    "mlir": {"backend": "mlir"},
    "mlir-graphs": {"backend": "mlir", "mode": "reduce-overhead"},
    "inductor": {"backend": "inductor"},
    "inductor-graphs": {"backend": "inductor", "mode": "reduce-overhead"},
    "mlir-tuned": {"backend": "mlir", "mode": "max-autotune-no-cudagraphs"},
    "mlir-products": {"backend": "mlir", "options": {"pipeline": _KEPT}},
}
COMPARED = ("mlir", "mlir-graphs", "inductor", "inductor-graphs")
FLUSH = 1 << 30
"""Bytes that are written between two launches, so that nothing is left in the second-level cache: many
times its size, and enough for the processor to be ahead of the device with the launch that comes next."""
_AWAKE = 0.1
"""Seconds of work before anything is timed: a device that was idle has low clocks."""

Call = Callable[[], object]
Row = dict[str, Any]


@dataclass
class Bench:
    """Where to measure, and how large."""

    device: torch.device
    small: bool
    """For trying this out on CPUs."""
    prepares: bool = False
    """Calls everything once and times nothing: what it compiles is in the caches from then on."""
    _flush: Tensor | None = None

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize(self.device)

    def put(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(tensor.to(self.device) for tensor in tensors)

    def compare(self, contenders: Mapping[str, Call], *, flush: bool, seconds: float = 0.5) -> Comparison:
        """Time the contenders in turns; one that fails drops out. With `flush`, each call finds an empty
        second-level cache; without it, calls follow each other as the steps of a program do.
        """
        first, errors = dict[str, float](), dict[str, Row]()
        for name, call in contenders.items():
            start = time.perf_counter()
            try:
                call()
                self.wait()
                first[name] = time.perf_counter() - start
                for _ in range(0 if self.prepares else 5):  # watched and recorded by now
                    call()
                self.wait()
            except Exception as error:
                errors[name] = failure(error)
        left = {name: call for name, call in contenders.items() if name not in errors}
        if self.prepares:
            return Comparison(None, first, errors)
        start = time.perf_counter()
        while left and self.on_gpu and time.perf_counter() - start < _AWAKE:
            for call in left.values():
                call()
            self.wait()
        clock = per_call if not self.on_gpu else self._flushed if flush else self._followed
        rounds = (3, 5) if self.small else (9, 200)
        return Comparison(interleave(left, seconds, rounds, clock) if left else None, first, errors)

    def _followed(self, call: Call, repeats: int) -> float:
        first, last = _event(), _event()
        first.record()
        for _ in range(repeats):
            call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1000 / repeats

    def _flushed(self, call: Call, repeats: int) -> float:
        if self._flush is None:
            self._flush = torch.empty(FLUSH, dtype=torch.uint8, device=self.device)
        pairs = [(_event(), _event()) for _ in range(min(repeats, 10))]
        for first, last in pairs:
            self._flush.zero_()
            first.record()
            call()
            last.record()
        self.wait()
        return sum(first.elapsed_time(last) for first, last in pairs) / 1000 / len(pairs)

    def kernels(self, call: Call, *, longest: int = 12) -> Row:
        """What the device does in one call: busy microseconds, launches, the kernels that take longest.

        By the driver's own records (CUPTI), which leave out how long it waits for the host.
        """
        if not self.on_gpu or self.prepares:
            return {}
        repeats = 3
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as records:
            for _ in range(repeats):
                call()
            self.wait()
        found: dict[str, tuple[int, float]] = {}
        for each in records.events():
            if each.device_type == torch.autograd.DeviceType.CUDA:
                count, us = found.get(each.name, (0, 0.0))
                found[each.name] = count + 1, us + each.time_range.elapsed_us()
        rows = sorted(
            ((us / repeats, count / repeats, name) for name, (count, us) in found.items()), reverse=True
        )
        return {
            "busy us": round(sum(us for us, _, _ in rows), 1),
            "launches": round(sum(count for _, count, _ in rows), 1),
            "longest": [[round(us, 1), round(count, 1), name[:100]] for us, count, name in rows[:longest]],
        }


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)


@dataclass(frozen=True)
class Comparison:
    """What was timed, as rows: a median and both quartiles of each number."""

    timings: Timings | None
    first: Mapping[str, float]
    """Seconds of each first call, which compiles."""
    errors: Mapping[str, Row]

    def seconds(self, name: str) -> float:
        """The median; NaN where it failed."""
        failed = self.timings is None or name in self.errors
        return float("nan") if failed else self.timings.spread(name).median

    def row(self, name: str, *over: str) -> Row:
        """Microseconds of `name`, and how many times as fast it is as others, round by round."""
        if name in self.errors or self.timings is None:
            return self.errors.get(name, {})
        row: Row = {"us": _three(self.timings.spread(name), 1e6)}
        for each in over:
            failed = each in self.errors
            row[f"over {each}"] = None if failed else _three(self.timings.speedup(name, each), 1)
        return row

    def compiled(self, name: str, *over: str) -> Row:
        """As `row`, with the seconds of the first call."""
        row = self.row(name, *over)
        return row if name in self.errors else {**row, "first call s": round(self.first[name], 1)}


def failure(error: BaseException) -> Row:
    """What is kept of an error."""
    text = " ".join(str(error).split())
    return {"error": f"{type(error).__name__}: {text}"[:400]}


def _three(spread: Spread, scale: float) -> list[float]:
    return [float(f"{value * scale:.4g}") for value in (spread.median, spread.low, spread.high)]


def compiled(function: Any, backend: str = "mlir") -> Any:
    """`torch.compile`d. (`torch._dynamo.reset()` comes before an item: what it compares stays compiled.)"""
    return torch.compile(function, **BACKENDS[backend])
