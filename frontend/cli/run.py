"""`tilewright run`: execute a function of a module, by the interpreter or by a target."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook
from tilewright.targets.registry import target_names

from ..check.aten_callback import aten_callback
from ..check.execute import is_array, run_on
from ..check.inputs import Case
from ..check.signature import Entry, entries
from ..tools.tool_io import load_passes, make_folder, parse_module, read_text, verify_input
from .errors import CannotRun
from .given import all_arguments, case_of, given_arrays
from .subject import option_values

INTERPRETER, FLOAT64 = "interpreter", "float64"
_PRINTED = 32
_EPILOG = """\b
Examples:
  tilewright run graph.mlir
  tilewright run graph.mlir --symbol s0=17 --through cpu_openmp --compare
  tilewright run graph.mlir -p canonicalize,fuse --input 0=x.npy -o results/
  tilewright run graph.mlir --through cpu_openmp --option check=each-pass
"""


@click.command(epilog=_EPILOG)
@click.argument("file", default="-")
@click.option("--entry", help="the function to run; the first that can be, if left out")
@click.option(
    "--through",
    default=INTERPRETER,
    show_default=True,
    help=f"{INTERPRETER}, {FLOAT64} (the interpreter in float64), or a target such as cpu_openmp",
)
@click.option("-p", "--passes", default="", help="passes to run first")
@click.option("--load", multiple=True, metavar="FILE", help="Python file or module with more passes")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="an option of the backend")
@click.option(
    "--symbol",
    "symbols",
    multiple=True,
    metavar="s0=7",
    help="value of a symbol; else as --input has it, or 5",
)
@click.option(
    "--input", "inputs", multiple=True, metavar="0=x.npy", help="an argument, .npy or .pt; random if left out"
)
@click.option("--seed", default=0, show_default=True, help="of the random arguments")
@click.option("--range", "span", default="0..9", show_default=True, help="of random integers")
@click.option("--compare", is_flag=True, help="print the distance to the interpreter's float64 result")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write results as .npy files here")
def command(
    file: str,
    entry: str | None,
    through: str,
    passes: str,
    load: Sequence[str],
    options: Sequence[str],
    symbols: Sequence[str],
    inputs: Sequence[str],
    seed: int,
    span: str,
    compare: bool,
    output: Path | None,
) -> None:
    """Run a function of FILE (tw, tk or th) on given or random arguments, and print its results."""
    for source in load:
        load_passes(source)
    _check_through(through)
    if options and through in (INTERPRETER, FLOAT64):
        raise click.BadParameter(f"{through} takes none; --through names a target", param_hint="--option")
    ctx = new_context()
    module = parse_module(ctx, read_text(file), file)
    verify_input(module, file)
    run_pipeline(ctx, module, parse_pipeline(passes), hooks=[verify_hook()])
    chosen = _entry(module, entry, file)
    arrays = given_arrays(chosen, inputs)
    case = case_of(chosen, seed, span, symbols, arrays)
    given = all_arguments(module, chosen, case, arrays)
    if output is not None:
        make_folder(output)
    truth = _interpreted(module, chosen, case, given, float64=True) if compare else None
    if through in (INTERPRETER, FLOAT64):
        results = _interpreted(module, chosen, case, given, float64=through == FLOAT64)
    else:
        from ..runtime.run_module import run_by_target

        chosen_options = {"target": through, **option_values(options)}
        results = run_by_target(module, chosen, chosen_options, case.values, given)
    for index, value in enumerate(results):
        click.echo(f"result {index}: {_described(value)}")
        if truth is not None:
            click.echo(f"  distance to float64: {_distance(value, truth[index])}")
        if output is not None:
            np.save(output / f"result{index}.npy", value)


def _check_through(through: str) -> None:
    known = [INTERPRETER, FLOAT64, *target_names()]
    if through not in known:
        near = get_close_matches(through, known, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise click.BadParameter(f"{through!r} is none of {', '.join(known)}{hint}", param_hint="--through")


def _entry(module: ModuleOp, name: str | None, file: str) -> Entry:
    found, refused = entries(module)
    chosen = next((e for e in found if name is None or e.name == name), None)
    if chosen is None:
        known = ", ".join(f"@{e.name}" for e in found) or "none"
        reason = "; ".join(f"@{r.name}: {r.why}" for r in refused if name in (None, r.name))
        missing = "it has no function" if name is None else f"there is no @{name}"
        raise CannotRun(subject=file, reason=reason or missing, known=known)
    return chosen


def _interpreted(
    module: ModuleOp, entry: Entry, case: Case, given: Sequence[Any], *, float64: bool
) -> list[Any]:
    """The results; of a kernel, which has none, its arguments afterwards."""
    copies = [np.array(value) if is_array(value) else value for value in given]
    with np.errstate(all="ignore"):
        after, results = run_on(module, entry, case, copies, float64, aten_callback, lambda op, values: None)
    return [np.asarray(value) for value in (after if entry.level == "kernel" else results)]


def _described(value: Any) -> str:
    """Type, sizes, statistics, and all values where they are few."""
    head = f"{value.dtype}{list(value.shape)}"
    if value.size == 0:
        return head
    if value.size <= _PRINTED:
        return f"{head} {np.array2string(value, max_line_width=100, precision=6)}"
    wide = value.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    strange = value.size - finite.size
    note = f", {strange} not finite" if strange else ""
    if not finite.size:
        return f"{head}{note}"
    return f"{head} mean {finite.mean():.6g}, from {finite.min():.6g} to {finite.max():.6g}{note}"


def _distance(value: Any, truth: Any) -> str:
    if value.shape != truth.shape:
        return f"sizes {list(value.shape)} instead of {list(truth.shape)}"
    wide, exact = value.astype(np.float64), truth.astype(np.float64)
    both = np.isfinite(wide) & np.isfinite(exact)
    apart = int((~both & ~((wide == exact) | (np.isnan(wide) & np.isnan(exact)))).sum())
    gap = np.abs(wide - exact)[both]
    largest = float(gap.max()) if gap.size else 0.0
    rmse = float(np.sqrt((gap * gap).mean())) if gap.size else 0.0
    strange = f", {apart} differ in NaN or infinity" if apart else ""
    return f"largest {largest:.3g}, RMSE {rmse:.3g}{strange}"
