"""Many configurations of kernels, timed on a device: what rules for blocks, warps and stages follow from.

    python -m benchmarks.gpu_sweep compile build/sweep.bin --target sm_90      # on any machine, with triton
    python -m benchmarks.gpu_sweep measure build/sweep.bin --json sweep.json   # on a device

Products are scheduled with every tile, and attention with every block of rows and keys, that a program could
have, each with several numbers of warps and stages; what is compiled goes to the device as machine code, so
that little of its time is used. Times are those that `autotune` would see (targets/gpu_triton/timing.py).
"""

from __future__ import annotations

import itertools
import json
import lzma
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import torch
from rich.progress import track
from torch import Tensor
from torch.nn.functional import gelu, linear, scaled_dot_product_attention
from xdsl.dialects.builtin import ModuleOp

from benchmarks.gpu_static import traced
from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.frontend.runtime.gpu_runtime import libraries
from tilewright.passes.manager import parse_pipeline, run_pipeline, with_facts
from tilewright.passes.pipeline import PIPELINES
from tilewright.passes.schedule.blocks import Blocks, power_of_two
from tilewright.passes.schedule.roles import matrix_products
from tilewright.passes.schedule.schedule_gpu import ScheduleGpuPass, decide
from tilewright.passes.schedule.tiles.descriptors import with_descriptors
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.compiler import compile_job, job
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.kernel import TritonKernel
from tilewright.targets.gpu_triton.timing import Clock
from tilewright.targets.gpu_triton.tuning import buffer_sizes
from tilewright.targets.gpu_triton.workers import compile_each

Problem = tuple[Callable[..., Any], tuple[Tensor, ...]]
_PASSES = tuple(name for name in PIPELINES["gpu"] if name != "leave-products")
"""With kernels of ours for all products of halves."""
_SIDES, _DEPTHS, _STAGES, _WARPS = (16, 32, 64, 128, 256), (64, 128), (2, 3, 4, 6), (4, 8)
_FEWEST, _MOST = 24, 4096
"""Programs, beyond which nobody would cut a product."""


def product(m: int, k: int, n: int, after: str) -> Problem:
    """A linear layer in bf16 with `gelu` behind it, or with a residual."""
    a, b, bias, other = (torch.randn(*s).bfloat16() for s in ((m, k), (n, k), (n,), (m, n)))
    if after == "gelu":
        return lambda a, b, c: gelu(linear(a, b, c)), (a, b, bias)
    return lambda a, b, c, r: linear(a, b, c) + r, (a, b, bias, other)


def attention(batch: int, heads: int, length: int, depth: int, causal: bool) -> Problem:
    """With its gradients, in bf16."""
    given = [torch.randn(batch, heads, length, depth).bfloat16().requires_grad_() for _ in range(3)]
    return lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=causal), tuple(given)


PROBLEMS: Mapping[str, Callable[[], Problem]] = {
    "1024x768x768": lambda: product(1024, 768, 768, "residual"),
    "1024x3072x768": lambda: product(1024, 3072, 768, "residual"),
    "1024x768x3072": lambda: product(1024, 768, 3072, "gelu"),
    "1576x3072x768": lambda: product(1576, 3072, 768, "residual"),
    "4096x4096x4096": lambda: product(4096, 4096, 4096, "gelu"),
    "16x4096x4096": lambda: product(16, 4096, 4096, "gelu"),
    "attention 64": lambda: attention(8, 16, 1024, 64, False),
    "attention 64 causal": lambda: attention(8, 16, 1024, 64, True),
    "attention 128": lambda: attention(4, 16, 4096, 128, False),
    "attention 128 causal": lambda: attention(4, 16, 4096, 128, True),
}


@dataclass(frozen=True)
class Trial:
    """One configuration of one kernel of a problem."""

    problem: str
    function: str
    blocks: str
    """Blocks, warps and stages, as attributes; the first trial of a function has what rules choose."""
    kernel: TritonKernel
    sizes: tuple[int, ...]
    """Bytes of the buffers."""
    text: str = ""
    binary: Binary | None = None


def configurations(func: FuncOp, default: Blocks, shared: int) -> Iterator[Blocks]:
    """The default, then whatever else could be; `shared` bytes of shared memory are there."""
    yield default
    axes = default.varied[:2]
    if default.kind not in ("product", "chain") or len(axes) < 2:
        return
    products = matrix_products(func) if default.kind == "product" else ()
    depth = products[0].over if len(products) == 1 else ()
    sizes = [power_of_two(max(16, func.space[axis].constant or 16)) for axis in axes]
    for sides in itertools.product(*([side for side in _SIDES if side <= size] for size in sizes)):
        for deep, stages, warps in itertools.product(_DEPTHS if depth else (0,), _STAGES, _WARPS):
            changed = dict(zip(axes, sides, strict=True)) | dict.fromkeys(depth, deep)
            if depth and (sum(sides) * deep * 2 * stages > shared or not _is_sensible(func, axes, sides)):
                continue
            blocks = tuple((axis, changed.get(axis, size)) for axis, size in default.sizes)
            found = replace(default, sizes=blocks, stages=stages, warps=warps, descriptors=(), halves=False)
            yield found
            if depth and default.describable:
                yield with_descriptors(func, products[0], found)


def _is_sensible(func: FuncOp, axes: Sequence[int], sides: Sequence[int]) -> bool:
    programs = 1
    for axis, side in zip(axes, sides, strict=True):
        programs *= -(-(func.space[axis].constant or 1) // side)
    return programs <= _MOST and (programs >= _FEWEST or sides[0] * sides[1] <= 64 * 64)


def trials_of(problem: str, target: str) -> Iterator[Trial]:
    """What a problem's kernels become with each configuration."""
    facts, chosen = architecture(target).facts, _PASSES.index("schedule-gpu")
    before, decides, after = (
        with_facts(parse_pipeline(",".join(part)), facts)
        for part in (_PASSES[:chosen], _PASSES[chosen : chosen + 1], _PASSES[chosen + 1 :])
    )
    assert isinstance(decides[0], ScheduleGpuPass)
    limits = decides[0].limits
    function, inputs = PROBLEMS[problem]()
    training = any(tensor.requires_grad for tensor in inputs)
    for module in traced(function, inputs, training, tuple(map(str, before))):
        for func in [op for op in module.ops if isinstance(op, FuncOp) and op.scheduled is None]:
            sizes = buffer_sizes(func)
            for blocks in configurations(func, decide(func, limits), limits.shared * 1024):
                copy = func.clone()
                copy.attributes.update(blocks.attributes())
                name = ", ".join(f"{key} {value}" for key, value in blocks.attributes().items())
                alone = ModuleOp([copy])
                run_pipeline(new_context(), alone, after)
                unit = emit_unit(alone)
                yield Trial(problem, func.sym_name.data, name, unit.kernels[0], tuple(sizes or ()), unit.text)


@click.group(help=__doc__)
def main() -> None:
    """Two steps, on two machines."""


@main.command("compile")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--target", default="sm_90", show_default=True)
@click.option("--problems", default=",".join(PROBLEMS), show_default=True)
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
def compile_(path: Path, target: str, problems: str, workers: int) -> None:
    """Machine code of every configuration, into a file."""
    names = problems.split(",")
    if unknown := [name for name in names if name not in PROBLEMS]:
        raise click.ClickException(f"there is no problem {unknown[0]}; there are {', '.join(PROBLEMS)}")
    trials = [trial for name in track(names, "scheduling") for trial in trials_of(name, target)]
    jobs = [job(trial.text, trial.kernel, target) for trial in trials]
    with tempfile.TemporaryDirectory() as folder:
        errors = compile_each(jobs, Path(folder), workers)
        compiled = [
            replace(trial, text="", binary=replace(compile_job(task, Path(folder)), assembly=""))
            for i, (trial, task) in enumerate(zip(trials, jobs, strict=True))
            if i not in errors
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(pickle.dumps(compiled)))
    click.echo(f"{len(compiled)} configurations, {len(errors)} of which nothing came")


@main.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "found", type=click.Path(path_type=Path), required=True)
def measure(path: Path, found: Path) -> None:
    """Microseconds of each, on the first device: of what `compile` wrote here or on another machine."""
    trials: list[Trial] = pickle.loads(lzma.decompress(path.read_bytes()))
    clock = Clock(libraries(os.environ).open_driver(), 0)
    rows: list[dict[str, Any]] = []
    for trial in track(trials, "timing"):
        assert trial.binary is not None
        row: dict[str, Any] = {"problem": trial.problem, "function": trial.function, "blocks": trial.blocks}
        row |= {name: getattr(trial.binary, name) for name in ("registers", "spills", "shared")}
        try:
            row["us"] = round(clock.seconds(trial.kernel, trial.binary, trial.sizes) * 1e6, 2)
        except TilewrightError as error:
            row["error"] = str(error).partition("\n")[0]
        rows.append(row)
    found.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
