"""The parts of TorchDynamo that have no public name: what it recorded, and compiles apart from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch


@dataclass(frozen=True)
class GraphBreak:
    """One place where TorchDynamo split a function."""

    reason: str
    place: str
    """Empty where it did not say: it left a whole function to Python then."""

    def __str__(self) -> str:
        return f"graph break at {self.place}: {self.reason}" if self.place else f"not traced: {self.reason}"


def recorded_graph_breaks() -> list[GraphBreak]:
    """Every graph break of this process so far."""
    from torch._dynamo import utils

    reasons: list[Any] = utils.graph_break_reasons  # pyright: ignore
    return [_graph_break(reason) for reason in reasons]


def refusals() -> Counter[str]:
    """Why TorchDynamo did not trace code so far, and how often, with its explanations and hints.

    A function that it cannot split, either, is left to Python, and counts among these alone.
    """
    from torch._dynamo.utils import counters

    return Counter(counters["unimplemented"])


def untraced(since: Counter[str]) -> list[GraphBreak]:
    """The refusals since then, equal ones once: how often TorchDynamo tried again says nothing."""
    return [GraphBreak(reason, "") for reason in dict.fromkeys(map(_in_short, refusals() - since))]


def _in_short(text: str) -> str:
    """`what: explanation (first hint)` of a refusal."""
    lines = [line.strip() for line in text.splitlines()]
    parts = {name: rest for line in reversed(lines) for name, colon, rest in [line.partition(": ")] if colon}
    explanation, hint = parts.get("Explanation", ""), parts.get("Hint", "")
    return lines[0] + (f": {explanation}" if explanation else "") + (f" ({hint})" if hint else "")


def _graph_break(found: Any) -> GraphBreak:
    frame = found.user_stack[-1] if found.user_stack else None
    place = f"{frame.filename}:{frame.lineno}" if frame is not None else "unknown"
    reason = next((line for line in str(found.reason).splitlines() if line.strip()), "no reason given")
    return GraphBreak(reason.strip(), place)


def compile_seconds() -> tuple[float, float]:
    """Seconds of this process in TorchDynamo, backends included, and in backends alone."""
    from torch._dynamo.utils import compilation_time_metrics as metrics

    frames, backends = "_compile.compile_inner", "OutputGraph.call_user_compiler"
    return sum(metrics.get(frames, ())), sum(metrics.get(backends, ()))


@contextmanager
def compiled_apart(
    function: Callable[..., Any], backend: Callable[..., Any], dynamic: bool | None
) -> Generator[Callable[..., Any]]:
    """`function` compiled however often it was before, and its backward graph at once.

    These compiles do not count among those that torch allows for the function, of which some releases cannot
    keep them apart: there Dynamo forgets the code that they met, which other backends then compile again.
    """
    import torch._dynamo.config as dynamo
    import torch._functorch.config as functorch

    unlimited = 1 << 30
    limits = dynamo.patch(recompile_limit=unlimited, accumulated_recompile_limit=unlimited)  # pyright: ignore
    apart = {"isolate_recompiles": True} if _knows_isolated_compiles() else {}
    with limits, functorch.patch(force_non_lazy_backward_lowering=True):  # pyright: ignore
        try:
            yield torch.compile(function, backend=backend, dynamic=dynamic, **apart)  # pyright: ignore
        finally:
            if not apart:
                _forget(backend)


def _knows_isolated_compiles() -> bool:
    return "isolate_recompiles" in signature(torch.compile).parameters  # pyright: ignore


def _forget(backend: Callable[..., Any]) -> None:
    """Drop what Dynamo keeps of each code object that this backend compiled."""
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list as entries_of  # pyright: ignore
    from torch._C._dynamo.eval_frame import reset_code  # pyright: ignore
    from torch._dynamo.convert_frame import input_codes

    for code in [code for reference in input_codes.seen if (code := reference()) is not None]:
        entries: list[Any] = entries_of(code)
        if any(getattr(entry.backend, "compiler_fn", None) is backend for entry in entries):
            reset_code(code)
