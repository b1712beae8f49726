"""Measured time of each step of a plan, and what this machine can do at most."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from tilewright.targets.registry import code as code_at

from ..fx.graph import Boundary
from ..runtime.call import make_call
from ..runtime.frozen import with_setup
from ..runtime.native_code import NativeCode, module_of
from ..torch_internals import real_tensors

_REPEATS, _MOST, _SECONDS = 5, 200, 0.06
"""At least and at most so many runs, and for so long between."""
_CALL_SECONDS = 0.5
_SIZES = tuple(1 << power for power in (14, 17, 20, 23, 26))
"""Bytes moved by the copies that are measured: from the first-level cache to main memory."""
_PRODUCT = 768


@dataclass(frozen=True)
class Machine:
    """What this machine reached just now."""

    copies: Mapping[int, float]
    """Bytes moved by a copy (read and written) -> bytes per second."""
    flops: float
    """f32 operations per second of ATen's matrix product."""

    def bandwidth(self, moved: int) -> float:
        """Of a copy that moves about as many bytes."""
        return self.copies[min(self.copies, key=lambda size: abs(size.bit_length() - moved.bit_length()))]


@cache
def machine() -> Machine:
    """Measured once per process; half a second."""
    with torch.no_grad(), real_tensors():
        copies = {size: size / _least(_copy(size)) for size in _SIZES}
        a = torch.ones(_PRODUCT, _PRODUCT)
        out = torch.empty_like(a)
        return Machine(copies, 2 * _PRODUCT**3 / _least(lambda: torch.mm(a, a, out=out)))


def _copy(size: int) -> Callable[[], object]:
    source = torch.zeros(size // 8, dtype=torch.float32)
    target = torch.ones_like(source)
    return lambda: target.copy_(source)


def _least(run: Callable[[], object]) -> float:
    """Seconds of the fastest run: many where they are short, for a busy machine disturbs some."""
    best, begin = float("inf"), perf_counter()
    for number in range(_MOST):
        start = perf_counter()
        run()  # the first touches the memory
        best = min(best, perf_counter() - start)
        if number >= _REPEATS and perf_counter() - begin > _SECONDS:
            break
    return best


@dataclass(frozen=True)
class Measured:
    """Seconds: of each step, in the order of the plan, and of a whole call; each of its fastest run."""

    steps: Sequence[float]
    call: float


def measure(
    code: NativeCode,
    boundary: Boundary,
    args: Sequence[Any],
    cache_folder: Path,
    environment: Mapping[str, str],
) -> Measured | None:
    """Run the compiled graph a few times on `args`, which it may write to; None where nothing ran.

    Each step counts with its fastest run. Buffers are those of real calls, as are the caches.
    """
    from tilewright.targets.native.launch import load_unit

    plan = code.unit.plan
    if plan is None or not plan.ranges:
        return None
    recipe = code_at(code.recipe)(environment)
    graph = load_unit(
        code.unit, recipe=recipe, cache_dir=cache_folder, environment=environment, pooled=code.pooled
    )
    run = graph.call if code.setup is None else with_setup(graph.call, module_of(code.setup), graph.prober)
    call, clock = make_call(boundary, run), (ctypes.c_uint64 * len(plan.ranges))()
    steps, whole = [float("inf")] * len(plan.ranges), float("inf")
    # Seeds come from torch's generator: the user's program must not see that it was asked.
    with torch.no_grad(), real_tensors(), torch.random.fork_rng(devices=[]):  # pyright: ignore[reportUnknownMemberType]
        call(list(args))
        graph.watch(clock)
        begin = perf_counter()
        for number in range(_MOST):
            if number >= _REPEATS and perf_counter() - begin > _CALL_SECONDS:
                break
            ctypes.memset(clock, 0, ctypes.sizeof(clock))
            start = perf_counter()
            call(list(args))
            whole = min(whole, perf_counter() - start)
            steps = [min(old, new * 1e-9) for old, new in zip(steps, clock, strict=True)]
        graph.watch(None)
    return Measured(steps, whole)
