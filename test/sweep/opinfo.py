"""Torch's own operator samples (OpInfo) through `backend="mlir"`, judged against eager and float64.

    make sweep
    python test/sweep/opinfo.py --ops '^(hypot|fmax)$' --dtypes float32,int64 --target reference
    python test/sweep/opinfo.py --dtypes float32 --gradients --dynamic --samples 4
    python test/sweep/opinfo.py --dtypes float32 --samples 3 --inputs nan,infinite,turned,empty

Each operator and dtype is one graph over several samples. A line per trouble: `wrong` (a result
breaks the float64 rule), `torch` (so it does with `aot_eager`, which runs torch's own graph), `error`
(the compile or the call raised), `fallback` (an ATen overload without a row). Exits with 1 where
something is wrong or raised.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map

sys.path.insert(0, str(Path(__file__).parents[2]))

from changed_inputs import CHANGES, changed
from sample_gradients import gradients_of, has_gradients

from benchmarks.numerics import NARROW, judge_tensor
from tilewright.frontend.compile import Record, compile_captured
from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options

DTYPES = {
    name: getattr(torch, name)
    for name in ("float32", "float64", "bfloat16", "float16", "complex64", "int64", "int16", "uint8", "bool")
}
SECONDS_EACH = 120

# What has no one right answer, or needs what a sample run does not have.
SKIPPED = re.compile(
    r"^(empty|new_empty|empty_like|empty_strided|empty_permuted|new_empty_strided)$"  # any memory is right
    r"|rand|bernoulli|multinomial|normal$|dropout|uniform|cauchy|exponential|geometric|log_normal|rrelu"
    r"|^(linalg\.eig|svd|linalg\.svd|pca_lowrank|svd_lowrank|geqrf|qr|linalg\.qr)"  # signs are free
    r"|^torch\.ops|^to_sparse|sparse|jiterator|^ops\.|nn\.functional\.fractional_max_pool"
)


@dataclass(frozen=True)
class Finding:
    """What came out for one operator and dtype."""

    op: str
    dtype: str
    status: str
    detail: str = ""
    overloads: tuple[str, ...] = ()


@dataclass(frozen=True)
class How:
    """What is made of the samples, and how they are compiled."""

    target: str = "cpu_openmp"
    samples: int = 6
    """Of each operator and dtype."""
    inputs: tuple[str, ...] = ()
    """Changes (`CHANGES`), each of which is made to each sample; none: samples as they are."""
    gradients: bool = False
    """Gradients by the inputs are judged instead of results."""
    dynamic: bool = False
    """Sizes, and numbers beside tensors, are symbolic."""


class TooLong(Exception):
    """One operator took more than its share of time."""


def _stop(*_: object) -> None:
    raise TooLong(f"more than {SECONDS_EACH} s")


def samples_of(info: Any, dtype: torch.dtype, how: How) -> list[tuple[Any, Any, Any]]:
    """Evenly chosen samples of an operator, changed as asked for, on which eager itself works."""
    made = list(info.sample_inputs("cpu", dtype, requires_grad=how.gradients))
    numbers = torch.Generator().manual_seed(0)
    chosen: list[tuple[Any, Any, Any]] = []
    for sample in made[:: max(1, len(made) // how.samples)][: how.samples]:
        plain = (sample.input, sample.args, sample.kwargs)
        for case in [changed(plain, name, numbers) for name in how.inputs] or [plain]:
            try:
                result = called(info.op, tree_map(_fresh, case))
            except Exception:
                continue
            if not how.gradients or has_gradients(case, result):
                chosen.append(case)
    return chosen


def called(op: Callable[..., Any], case: tuple[Any, Any, Any]) -> Any:
    value, args, kwargs = case
    return op(value, *args, **kwargs)


def judged_of(op: Callable[..., Any], case: tuple[Any, Any, Any], how: How) -> Any:
    """What eager makes of one case: results, or gradients."""
    result = called(op, case)
    return gradients_of([case], [result])[0] if how.gradients else result


def compiled(op: Callable[..., Any], cases: Sequence[Any], how: How) -> tuple[Any, Record]:
    """All cases as one graph."""
    record = Record()
    options, environment = make_options({"target": how.target}), read_environment()

    def backend(gm: Any, inputs: Any) -> Any:
        return compile_captured(gm, inputs, options, environment, record)

    return by_backend(backend, op, cases, how), record


def by_backend(backend: Any, op: Callable[..., Any], cases: Sequence[Any], how: How) -> list[Any]:
    torch._dynamo.reset()

    def function(cases: Sequence[Any]) -> list[Any]:
        return [op(value, *args, **kwargs) for value, args, kwargs in cases]

    results = torch.compile(function, backend=backend, dynamic=how.dynamic)(cases)
    return gradients_of(cases, results) if how.gradients else results


WIDER = {
    **dict.fromkeys(NARROW, torch.float64),
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


def widened(value: Any) -> Any:
    """Narrow floats as float64, and so where a sample asks for them (`dtype=torch.bfloat16`)."""
    if isinstance(value, torch.dtype):
        return WIDER.get(value, value)
    if isinstance(value, Tensor) and value.dtype in WIDER:
        return value.detach().to(WIDER[value.dtype]).requires_grad_(value.requires_grad)
    return value


def wrong(op: Callable[..., Any], case: Any, got: Any, how: How) -> str:
    """What is wrong with the results of one sample, or its gradients; or nothing."""
    eager = judged_of(op, tree_map(_fresh, case), how)
    try:
        truth = judged_of(op, tree_map(widened, case), how)
    except Exception:  # the operator takes no float64 beside the other operands
        truth = eager
    leaves, want, exact = (tree_flatten(v)[0] for v in (got, eager, truth))
    if len(exact) != len(want):
        exact = want
    if len(leaves) != len(want):
        return f"{len(leaves)} results for {len(want)}"
    if not how.gradients and _are_positions_of_equals(op, case, leaves, want):
        return ""
    for have, expected, true in zip(leaves, want, exact, strict=True):
        if isinstance(expected, Tensor):
            true = true if true.shape == expected.shape else expected
            verdict = _judged(have, expected, true)
            if verdict:
                return verdict
        elif have != expected and have == have:
            return f"{have!r} for {expected!r}"
    return ""


PICKS = ("kthvalue", "topk", "median", "nanmedian", "mode")
"""Functions of rows that return numbers and where each is: of equal ones, any place."""


def _are_positions_of_equals(
    op: Callable[..., Any], case: Any, leaves: Sequence[Any], want: Sequence[Any]
) -> bool:
    """Whether the numbers are eager's, and stand in their rows where the positions, all different, say."""
    value, args, kwargs = case
    if getattr(op, "__name__", "") not in PICKS or len(want) != 2 or not isinstance(value, Tensor):
        return False
    (values, positions), counted = leaves, getattr(op, "__name__", "") in ("kthvalue", "topk")
    dim = kwargs.get("dim", args[int(counted)] if len(args) > int(counted) else -1)
    if not torch.equal(values, want[0]) or positions.shape != want[1].shape or not value.dim():
        return False
    if positions.dim() < value.dim():
        values, positions = values.unsqueeze(dim), positions.unsqueeze(dim)
    distinct = bool(positions.sort(dim).values.diff(dim=dim).ne(0).all())
    return distinct and torch.equal(value.gather(dim, positions), values)


def _judged(have: Tensor, want: Tensor, truth: Tensor) -> str:
    if want.is_sparse:
        return ""
    if truth.is_complex() != want.is_complex():
        truth = want
    if have.shape == want.shape and have.dtype == want.dtype and want.is_complex():
        have, want, truth = (torch.view_as_real(x.resolve_conj()) for x in (have, want, truth))
    verdict = judge_tensor(have, want, truth)
    return "" if verdict.ok else f"{verdict.why} {tuple(want.shape)}"


def _fresh(value: Any) -> Any:
    """A copy with the memory around a view, which is a leaf of gradients again."""
    if not isinstance(value, Tensor):
        return value
    return copy.deepcopy(value.detach()).requires_grad_(value.requires_grad)


def examine(info: Any, name: str, how: How) -> Finding | None:
    """Compile and judge one operator; None where torch has no samples of this dtype."""
    dtype = DTYPES[name]
    title = f"{info.name}{'.' + info.variant_test_name if info.variant_test_name else ''}"
    cases = samples_of(info, dtype, how)
    if not cases:
        return None
    try:
        got, record = compiled(info.op, tree_map(_fresh, cases), how)
    except TooLong:
        raise
    except Exception as error:
        return Finding(title, name, "error", f"{type(error).__name__}: {_first_line(error)}")
    overloads = tuple(sorted({f.op for _, g in record.graphs for f in g.fallbacks if f.code == "TW1101"}))
    refused = tuple(sorted({f"{f.code} {f.op}: {f.reason}" for _, g in record.graphs for f in g.fallbacks}))
    by_aten = [str(t.by_aten).splitlines()[0] for t in record.traces if t.by_aten]
    for i, (case, value) in enumerate(zip(cases, got, strict=True)):
        if why := wrong(info.op, case, value, how):
            control = by_backend("aot_eager", info.op, tree_map(_fresh, cases), how)[i]
            status = "torch" if wrong(info.op, case, control, how) else "wrong"
            return Finding(title, name, status, f"sample {i}: {why}; {'; '.join(refused)}", overloads)
    if by_aten:
        return Finding(title, name, "whole graph by ATen", by_aten[0], overloads)
    status = "fallback" if overloads else "partly" if refused else "ok"
    return Finding(title, name, status, "; ".join(refused), overloads)


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return " | ".join(lines[:3])[:300]


def sweep(pattern: str, dtypes: Sequence[str], how: How) -> Iterator[Finding]:
    """Every operator whose name matches."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in sorted(op_db, key=lambda o: (o.name, o.variant_test_name)):
        if SKIPPED.search(info.name) or not re.search(pattern, info.name):
            continue
        for name in dtypes:
            supported = info.supported_backward_dtypes if how.gradients else info.supported_dtypes
            if DTYPES[name] not in supported("cpu") or (how.gradients and not info.supports_autograd):
                continue
            signal.alarm(SECONDS_EACH)
            try:
                torch.manual_seed(0)
                finding = examine(info, name, how)
            except TooLong as error:
                finding = Finding(info.name, name, "error", str(error))
            except Exception as error:
                finding = Finding(info.name, name, "sample", f"{type(error).__name__}: {_first_line(error)}")
            finally:
                signal.alarm(0)
            if finding is not None:
                yield finding


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ops", default="", help="regular expression over names of OpInfos")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--target", default="cpu_openmp")
    parser.add_argument("--samples", type=int, default=6, help="samples of each operator and dtype")
    parser.add_argument("--inputs", default="", help=f"changes to each sample: {', '.join(CHANGES)}")
    parser.add_argument("--gradients", action="store_true", help="judge gradients instead of results")
    parser.add_argument("--dynamic", action="store_true", help="with symbolic sizes and numbers")
    parser.add_argument("--json", type=Path, help="also write every finding there, one per line")
    args = parser.parse_args()
    if unknown := set(args.dtypes.split(",")) - set(DTYPES):
        parser.error(f"--dtypes: no {', '.join(sorted(unknown))} among {', '.join(DTYPES)}")
    inputs = tuple(name for name in args.inputs.split(",") if name)
    if unknown := set(inputs) - set(CHANGES):
        parser.error(f"--inputs: no {', '.join(sorted(unknown))} among {', '.join(CHANGES)}")
    how = How(args.target, args.samples, inputs, args.gradients, args.dynamic)
    warnings.filterwarnings("ignore")
    for name in ("torch._dynamo", "tilewright"):  # what they say is in the findings
        logging.getLogger(name).setLevel(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _stop)
    counts: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    with open(args.json or "/dev/null", "w") as log:
        for finding in sweep(args.ops, args.dtypes.split(","), how):
            counts[finding.status] += 1
            missing.update(finding.overloads)
            print(json.dumps(asdict(finding)), file=log, flush=True)
            if finding.status != "ok":
                print(f"{finding.status:9} {finding.op} {finding.dtype}: {finding.detail}", flush=True)
    print("overloads without a row:", ", ".join(f"{n} ({c})" for n, c in missing.most_common()))
    print(", ".join(f"{status} {count}" for status, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
