"""What can be told of the GPU target's kernels without a GPU: they compile, and what they use.

    python -m benchmarks.gpu_static                                    # every model, forward and backward
    python -m benchmarks.gpu_static --models bert,gpt2 --targets sm_90 --dtypes bf16 --json out.json --resume

Nothing runs: models are traced and lowered at benchmark sizes (`slim`: with one layer of each kind),
once for all targets of which passes are told the same, and every kernel is compiled, equal ones once.
Binaries stay in the folder `--cache`.
A kernel is at fault where it spills registers, takes more shared memory than a program may
have, multiplies halves or bytes without a tensor-core instruction, or has a product of these that passes
made one that no tiles multiply. Where a default is at fault, what takes its place is shown,
as in a build. The exit status counts what is left.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click
import torch
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn, track
from rich.table import Table
from torch.utils._pytree import tree_leaves
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from benchmarks.kinds import KINDS, kinds_of
from benchmarks.models import BY_NAME, DTYPES, load
from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.index_expr import Var
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS, find_matrix_vector, find_products
from tilewright.dialects.tk.domain import axes_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import sizes_of
from tilewright.frontend.fx.dtypes import DTYPES as TORCH_TYPES
from tilewright.frontend.fx.graph import Graph
from tilewright.frontend.runtime.lower import lower
from tilewright.frontend.runtime.reference_runtime import placed, result_layouts
from tilewright.passes.kernels.chains import find_chain
from tilewright.passes.manager import parse_pipeline, run_pipeline, with_facts
from tilewright.passes.pipeline import PIPELINES
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.compiler import Job, compile_job, compile_jobs, job, stored
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.kernel import TritonKernel, TritonUnit
from tilewright.targets.gpu_triton.tuning import Tuner
from tilewright.targets.gpu_triton.workers import compile_each
from tilewright.targets.registry import Target, register_target

TARGETS = ("sm_80", "sm_90", "sm_100", "gfx942")
_FOUND: list[ModuleOp] = []
"""The graphs that were compiled, in order, up to where they are scheduled."""
_PIPELINE = PIPELINES["gpu"]
_SCHEDULE = _PIPELINE.index("expand-float8")


@dataclass(frozen=True)
class Row:
    """One kernel on one architecture."""

    model: str
    kernel: str
    target: str
    warps: int
    registers: int = 0
    spills: int = 0
    shared: int = 0
    occupancy: float = 0.0
    loads: int = 0
    wide_loads: int = 0
    tensor_core: int = 0
    faults: tuple[str, ...] = ()
    default: str = ""
    """What was wrong with the default configuration, where another one took its place."""


def build(graph: Graph, request: Any) -> Callable[[list[Any]], list[Any]]:
    """The target's `build`: keep the module; calls give zeros of the right shapes."""
    results = [(sizes_of(value), value.type) for value in graph.main.body.block.last_op.operands]  # type: ignore[union-attr]
    lower(graph, request)
    layouts = result_layouts(graph)  # passes choose some
    _FOUND.append(graph.module)

    def run(args: list[Any]) -> list[Any]:
        env: dict[Var, int] = {var: int(args[index]) for var, index in graph.symbols}
        made: list[Any] = []
        for (sizes, type_), layout in zip(results, layouts, strict=True):
            dtype = TORCH_TYPES[type_.get_element_type()]  # type: ignore[attr-defined]
            made.append(placed(torch.zeros([n.evaluate(env) for n in sizes], dtype=dtype), layout, env))
        return made

    return run


def lowering_for(target: str) -> tuple[str, ...]:
    """The passes before those that schedule, told what they ask of an architecture."""
    passes = parse_pipeline(",".join(_PIPELINE[:_SCHEDULE]))
    return tuple(map(str, with_facts(passes, architecture(target).facts)))


def modules_of(model: str, dtype: str, scale: str, training: bool, passes: tuple[str, ...]) -> list[ModuleOp]:
    """What a model becomes: one module per graph, the backward's included, not yet scheduled."""
    case = load(model, scale, 8, dtype, training=training)
    with torch._dynamo.config.patch(dict(BY_NAME[model].dynamo)):
        return traced(case.model, case.inputs, training, passes)


def traced(
    function: Callable[..., Any], inputs: Sequence[Any], training: bool, passes: tuple[str, ...]
) -> list[ModuleOp]:
    """The modules of a function, after these passes."""
    torch._dynamo.reset()
    _FOUND.clear()
    register_target(Target(name="gpu_static", build=build, pipeline=passes))
    compiled = torch.compile(function, backend="mlir", options={"target": "gpu_static"})
    with torch.set_grad_enabled(training):
        outputs = tree_leaves(compiled(*inputs))
        if training:
            sum(o.sum() for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad).backward()
    return list(_FOUND)


class Lowered(NamedTuple):
    """A graph for a target, up to where it is scheduled, and what it becomes."""

    module: ModuleOp
    unit: TritonUnit
    target: str


def unit_of(module: ModuleOp, target: str) -> TritonUnit:
    """The kernels, scheduled for an architecture as on a machine that has one."""
    copy = module.clone()
    run_pipeline(new_context(), copy, _schedules(target))
    return emit_unit(copy)


def _schedules(target: str) -> Sequence[ModulePass]:
    return with_facts(parse_pipeline(",".join(_PIPELINE[_SCHEDULE:])), architecture(target).facts)


def without_faults(lowered: Lowered, cache: Path, workers: int) -> tuple[Lowered, Mapping[str, str]]:
    """The unit that a build of the GPU target goes on with where defaults have faults, and these faults."""
    _, unit, target = lowered
    jobs = {kernel.name: job_of(unit, kernel, target) for kernel in unit.kernels}
    faults = compile_jobs(jobs, cache, workers).faults
    if not faults:
        return lowered, {}
    copy, passes = lowered.module.clone(), with_facts(_schedules(target), {"candidates": True})
    end = next(number for number, pass_ in enumerate(passes, start=1) if pass_.name == "schedule-gpu")
    run_pipeline(new_context(), copy, passes[:end])
    Tuner(target, "", cache, workers, only=faults)(copy, passes[end:])
    run_pipeline(new_context(), copy, passes[end:])
    return lowered._replace(unit=emit_unit(copy)), faults


def units_of(model: str, dtype: str, scale: str, training: bool, targets: Iterable[str]) -> list[Lowered]:
    """The kernels of a model for each target. It is traced once for those that are lowered alike.

    (Once per module would not do: what the backward graph is given lies as the forward's passes chose.)
    """
    lowered: dict[tuple[str, ...], list[ModuleOp]] = {}
    found: list[Lowered] = []
    for target in targets:
        if (passes := lowering_for(target)) not in lowered:
            lowered[passes] = modules_of(model, dtype, scale, training, passes)
        found += [Lowered(module, unit_of(module, target), target) for module in lowered[passes]]
    return found


def texts_of(unit: TritonUnit, kernel: TritonKernel) -> list[str]:
    """The kernel's function, behind those of its parts where it is a group."""
    text = _function(unit, kernel.name)
    parts = dict.fromkeys(re.findall(r"\b(_part_\w+)\(", text))
    return [*(_function(unit, part) for part in parts), text]


def _function(unit: TritonUnit, name: str) -> str:
    found = re.search(rf"def {name}\(.*?(?=\n\n\n|\Z)", unit.text, re.DOTALL)
    assert found is not None, name
    return found[0]


def multiplies_narrow(unit: TritonUnit, kernel: TritonKernel) -> bool:
    """Whether it has a product of less than f32, wherever the factors come from: f32 states its precision."""
    dots = [line for text in texts_of(unit, kernel) for line in text.splitlines() if "tl.dot" in line]
    return any("input_precision" not in line for line in dots)


def lost_products(module: ModuleOp) -> list[str]:
    """The functions with a product of narrow factors in a form that no tiles multiply.

    Such as of attention whose depth became two axes. A matrix and a vector are multiplied without tiles.
    """
    functions = [f for f in module.ops if isinstance(f, FuncOp) and _states_factors(f)]
    forms = (find_products, find_chain, find_matrix_vector)
    return [f.sym_name.data for f in functions if not any(find(f.body.block) for find in forms)]


def _states_factors(func: FuncOp) -> bool:
    """Whether it sums products of halves that vary: of a state of zeros, which a constant is, none does."""
    sums = [op for op in func.body.block.ops if isinstance(op, ReduceOp) and FACTORS in op.attributes]
    factors = [op.value.owner for op in sums]
    return any(isinstance(op, Operation) and all(axes_of(v) for v in op.operands) for op in factors)


def faults_of(
    unit: TritonUnit, kernel: TritonKernel, binary: Binary, lost: Iterable[str] = ()
) -> tuple[str, ...]:
    """What a kernel must not do; `lost` are the functions with products that no tiles multiply."""
    found: list[str] = []
    *_, text = texts_of(unit, kernel)
    found += [f"no tiles in {name}" for name in lost if name == kernel.name or f"_part_{name}(" in text]
    if binary.spills:
        found.append(f"spills {binary.spills}")
    if binary.shared > architecture(binary.architecture).shared_per_block:
        found.append(f"{binary.shared} bytes of shared memory")
    if binary.stages_left_out:
        found.append(f"shared memory for {binary.stages_left_out} stages less")
    if multiplies_narrow(unit, kernel) and not binary.tensor_core:
        found.append("no tensor core")
    return tuple(found)


def job_of(unit: TritonUnit, kernel: TritonKernel, target: str) -> Job:
    """How the kernel is compiled, under a name that equal kernels of other models have, too."""
    made = job(unit.text, kernel, target)
    return replace(
        made, kernel="kernel", source=re.sub(rf"\bdef {kernel.name}\(", "def kernel(", made.source)
    )


def compile_missing(jobs: Iterable[Job], cache: Path, workers: int) -> int:
    """Compile what the store lacks, equal jobs once, in processes; how many those were."""
    wanted = {task.key: task for task in jobs}
    missing = [task for task in wanted.values() if stored(task, cache) is None]
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(f"compiling, of {len(wanted)} kernels", total=len(missing))
        compile_each(missing, cache, workers, lambda: progress.advance(bar))
    return len(missing)


def rows_of(
    model: str, lowered: Lowered, cache: Path, defaults: Mapping[str, str] = MappingProxyType({})
) -> list[Row]:
    """Every kernel of a graph, compiled here where the store lacks it; `defaults` are of `without_faults`."""
    lost = lost_products(lowered.module)
    rows = [_row(model, lowered, kernel, lost, cache) for kernel in lowered.unit.kernels]
    return [replace(row, default=defaults.get(row.kernel, "")) for row in rows]


def _row(model: str, lowered: Lowered, kernel: TritonKernel, lost: Iterable[str], cache: Path) -> Row:
    unit, target = lowered.unit, lowered.target
    try:
        binary = compile_job(job_of(unit, kernel, target), cache)
    except TilewrightError as error:
        fault = str(error).partition("\n")[0]
        return Row(model, kernel.name, target, kernel.warps, faults=(fault,))
    return Row(
        model=model,
        kernel=kernel.name,
        target=target,
        warps=binary.warps,
        registers=binary.registers,
        spills=binary.spills,
        shared=binary.shared,
        occupancy=round(binary.occupancy, 3),
        loads=binary.loads,
        wide_loads=binary.wide_loads,
        tensor_core=binary.tensor_core,
        faults=faults_of(unit, kernel, binary, lost),
    )


def table(rows: Sequence[Row]) -> Table:
    """Per model and target; kernels by name only where they are at fault."""
    made = Table(title="Kernels compiled without a GPU")
    for heading in (
        "model",
        "target",
        "kernels",
        "registers",
        "occupancy",
        "wide loads",
        "tensor core",
        "faults",
    ):
        made.add_column(heading, justify="left" if heading in ("model", "target", "faults") else "right")
    for model, target in dict.fromkeys((row.model, row.target) for row in rows):
        made.add_row(model, target, *_summary([r for r in rows if (r.model, r.target) == (model, target)]))
    return made


def _summary(rows: Sequence[Row]) -> list[str]:
    registers = sorted(row.registers for row in rows)
    loads = [row for row in rows if row.loads]
    return [
        str(len(rows)),
        f"{registers[len(registers) // 2]} (max {registers[-1]})",
        f"{sum(row.occupancy for row in rows) / len(rows):.2f}",
        f"{sum(row.wide_loads > 0 for row in loads)}/{len(loads)}",
        str(sum(row.tensor_core > 0 for row in rows)),
        "; ".join(
            f"{row.kernel}: {', '.join(row.faults) or f'none, for {row.default} by default'}"
            for row in rows
            if row.faults or row.default
        ),
    ]


def kept_rows(output: Path) -> list[Row]:
    """What an earlier run wrote before it was stopped."""
    if not output.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(output.read_text())
    return [replace(Row(**row), faults=tuple(row["faults"])) for row in rows]


@click.command()
@click.option("--models", default=",".join(BY_NAME), help="Names of benchmarks/models.py.")
@click.option("--targets", default=",".join(TARGETS), help="Rows of targets/gpu_triton/architectures.py.")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--scale", default="slim", type=click.Choice(["slim", "bench", "tiny"]))
@click.option("--kinds", default=",".join(KINDS), callback=kinds_of, help="Which graphs.")
@click.option("--workers", default=2, help="Processes that compile.")
@click.option("--cache", default=Path("build/gpu_static"), type=click.Path(path_type=Path))
@click.option(
    "--json",
    "output",
    default=None,
    type=click.Path(path_type=Path),
    help="Every kernel, as JSON, from the first model on.",
)
@click.option("--resume", is_flag=True, help="Leave out what the file of --json has.")
def main(
    models: str,
    targets: str,
    dtypes: str,
    scale: str,
    kinds: tuple[str, ...],
    workers: int,
    cache: Path,
    output: Path | None,
    resume: bool,
) -> None:
    """Compile the kernels of the demo models, forward and backward, and print what they use."""
    cases = [(m, d, k) for m in models.split(",") for d in dtypes.split(",") for k in kinds]
    rows = kept_rows(output) if output is not None and resume else []
    done = {(row.model, row.target) for row in rows}
    for model, dtype, kind in track(cases, "cases", console=Console(stderr=True)):
        title = f"{model} {dtype} {kind}"
        if not (missing := [target for target in targets.split(",") if (title, target) not in done]):
            continue
        units = units_of(model, dtype, scale, kind == "training", missing)
        compile_missing((job_of(u, k, t) for _, u, t in units for k in u.kernels), cache, workers)
        for lowered in units:
            found, defaults = without_faults(lowered, cache, workers)
            rows += rows_of(title, found, cache, defaults)
        if output is not None:
            output.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    Console(width=160).print(table(rows))
    sys.exit(min(sum(bool(row.faults) for row in rows), 100))


if __name__ == "__main__":
    main()
