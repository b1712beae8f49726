"""The kernels of one random network, compiled for a GPU that is not there: what they must not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from check_graph import Find

from benchmarks.gpu_static import Lowered, lowering_for, rows_of, traced, unit_of


def check_kernels(text: str, target: str, cache: Path) -> Find | None:
    """Compile a program of `random_network` for `target`; the faults of `benchmarks.gpu_static` are finds.

    Binaries stay in `cache`.
    """
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    program, inputs, trained = space["program"], space["inputs"](), space["TRAINED"]
    if trained:
        inputs = tuple(t.requires_grad_() if t.is_floating_point() else t for t in inputs)
    try:
        modules = traced(program, inputs, trained, lowering_for(target))
        lowered = [Lowered(module, unit_of(module, target), target) for module in modules]
    except Exception as error:  # eager runs it, so whatever happens is a find
        return Find(type(error).__name__, str(error), text)
    rows = [row for each in lowered for row in rows_of("", each, cache)]
    lines = [
        f"@{row.kernel} for {target}: {', '.join(row.faults)} ({row.registers} registers)"
        for row in rows
        if row.faults
    ]
    return Find("Faults", "\n".join(lines), text) if lines else None
