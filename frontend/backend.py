"""Entry point of `torch.compile(backend="mlir")`; imports what it needs on the first compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .collector import collector_paused

if TYPE_CHECKING:
    from torch.fx import GraphModule


def compile_graph(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Called by Dynamo once per captured graph, with what the user gave to `torch.compile`."""
    with collector_paused():
        from .compile import compile_captured
        from .environment import read_environment
        from .options import make_options

        chosen, environment = make_options(options, mode), read_environment()
        if environment.report is not None:
            from .report.session import compile_reported

            return compile_reported(gm, example_inputs, chosen, environment)
        return compile_captured(gm, example_inputs, chosen, environment)
