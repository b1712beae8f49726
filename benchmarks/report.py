"""Rows of measurements as table cells, geometric means and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.timing import geomean

Row = Mapping[str, Any]
HEADINGS = (
    "model",
    "correct",
    "eager ms",
    "inductor ms",
    "mlir ms",
    "vs eager",
    "vs inductor",
    "cold s inductor",
    "cold s mlir",
    "kernels",
    "fall-backs",
    "graph breaks",
)
NOTE = (
    "Correct: as close to a float64 run as eager is (benchmarks/numerics.py). Times are medians of "
    "calls made in turns (quartiles in brackets); a ratio is the median of the ratios of each round, "
    "above 1 when mlir is faster. `cold s` is wall time (CPU time) from "
    "`torch.compile` to the first result in a fresh process with empty caches. Kernels are mlir's, "
    "plus its library calls; a dash is what was not measured. No ratio is clipped, and a model that "
    "failed counts as failed."
)


def cells(row: Row, *, brief: bool = False) -> list[str]:
    """One table line. `brief` leaves out quartiles, CPU seconds and reasons."""
    of = row["backends"]
    full = [
        row["title"],
        correctness(of.get("mlir", {})),
        *(milliseconds(of.get(name, {})) for name in ("eager", "inductor", "mlir")),
        ratio(of.get("mlir", {}), "eager"),
        ratio(of.get("mlir", {}), "inductor"),
        *(cold_seconds(of.get(name, {})) for name in ("inductor", "mlir")),
        kernels(of.get("mlir", {})),
        fact(of.get("mlir", {}), "fallbacks"),
        fact(of.get("mlir", {}), "graph_breaks"),
    ]
    return [cell.split(" (")[0].split(":")[0] for cell in full] if brief else full


def problems(row: Row) -> list[str]:
    """Each failure and wrong result of a row, whichever backend it is of."""
    found: list[str] = []
    for name, backend in row["backends"].items():
        judged = correctness(backend)
        if judged not in ("yes", "-"):
            found.append(f"{row['title']}, {name}: {judged}")
    return found


def correctness(backend: Row) -> str:
    """`yes`, or what is wrong."""
    if "error" in backend:
        return f"FAILED: {backend['error']}"
    verdict = backend.get("verdict")
    if verdict is None:
        return "-"
    return "yes" if verdict["ok"] else f"NO: {verdict['why']}"


def milliseconds(backend: Row) -> str:
    """Median and quartiles."""
    if "seconds" not in backend:
        return "-"
    median, low, high = (1e3 * backend["seconds"][key] for key in ("median", "low", "high"))
    digits = 2 if median < 10 else 1
    return f"{median:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def ratio(backend: Row, over: str) -> str:
    """How many times faster than `over`."""
    spread = backend.get("speedup", {}).get(over)
    return f"{spread['median']:.2f}x" if spread else "-"


def cold_seconds(backend: Row) -> str:
    """Wall seconds, CPU seconds in brackets."""
    cold = backend.get("cold", {})
    return f"{cold['wall_s']:.1f} ({cold['cpu_s']:.1f})" if "wall_s" in cold else "-"


def fact(backend: Row, name: str) -> str:
    """A count that the backend told, or a dash."""
    value = backend.get("cold", {}).get("facts", {}).get(name)
    return "-" if value is None else str(value)


def kernels(backend: Row) -> str:
    """Generated kernels and library calls."""
    own, library = fact(backend, "kernels"), fact(backend, "library_calls")
    return own if library == "-" else f"{own}+{library}"


def means(rows: Sequence[Row]) -> list[str]:
    """One line per unclipped geometric mean, each saying how many rows it covers."""
    lines: list[str] = []
    for over in ("eager", "inductor"):
        found = [row["backends"].get("mlir", {}).get("speedup", {}).get(over) for row in rows]
        speedups = [spread["median"] for spread in found if spread]
        lines.append(_mean(f"mlir against {over}", speedups, len(rows)))
    colds = [[row["backends"].get(name, {}).get("cold", {}) for name in ("inductor", "mlir")] for row in rows]
    for key, words in (("wall_s", "wall"), ("cpu_s", "CPU")):
        found = [theirs[key] / ours[key] for theirs, ours in colds if key in theirs and key in ours]
        if found:
            lines.append(_mean(f"cold compile against inductor, {words} time", found, len(rows)))
    return lines


def _mean(what: str, ratios: Sequence[float], rows: int) -> str:
    if not ratios:
        return f"{what}: no figure"
    spread = f"{min(ratios):.2f}x to {max(ratios):.2f}x"
    return f"{what}: geometric mean {geomean(ratios):.2f}x ({spread}; {len(ratios)} of {rows} models)"


def disturbance(rows: Sequence[Row]) -> str | None:
    """A warning if other processes were busy while something was timed."""
    busiest = max((row["other_cpus"] or 0.0 for row in rows), default=0.0)
    if busiest < 0.15:
        return None
    return f"Other processes kept up to {busiest:.1f} processors busy: these figures are not to be quoted."


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)
