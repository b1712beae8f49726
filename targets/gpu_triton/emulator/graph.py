"""A whole plan on CPU tensors, with every launch emulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Var
from tilewright.dialects.th.run import run_plan
from tilewright.dialects.th.semantics import LAUNCH

from ..kernel import TritonUnit
from .programs import Emulator

Aten = Callable[[Operation, Sequence[Any]], Sequence[Any]]


def run_graph(
    module: ModuleOp,
    unit: TritonUnit,
    inputs: Sequence[Any],
    *,
    aten: Aten | None = None,
    draw_seed: Callable[[], int] | None = None,
    entry: str = "main",
) -> list[Any]:
    """The results of a plan on CPU tensors (integers for its sizes), kernels run from the unit's text.

    `aten` executes library calls, as in `run_plan`. Memory that nobody wrote is poisoned, and
    arguments get what the plan writes to them.
    """
    emulator = Emulator(unit)

    def launch(name: str, buffers: Sequence[Any], symbols: Mapping[Var, int]) -> None:
        emulator.launch(name, [*buffers, *symbols.values()], symbols)

    with torch.no_grad():
        copies = [_copy(value) for value in inputs]
        results = run_plan(
            module, copies, torch, aten=aten, draw_seed=draw_seed, state={LAUNCH: launch}, entry=entry
        )
        for value, copy in zip(inputs, copies, strict=True):
            if isinstance(value, torch.Tensor) and not torch.equal(_bits(value), _bits(copy)):
                value.copy_(copy)
    return results


def _copy(value: Any) -> Any:
    """Memory of its own: an argument may repeat elements (`expand`), and then cannot be written."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.contiguous_format)


def _bits(value: torch.Tensor) -> torch.Tensor:
    """What tells NaN from NaN."""
    return value.reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8)
