"""What a target is asked to build, and the asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.targets.registry import Target, code, target

from ..environment import Environment
from ..errors import MissingTarget
from ..fx.graph import Graph
from ..options import Options, options_of_target
from ..trace import Trace
from .call import Run
from .compiling import Building


@dataclass(frozen=True)
class Request:
    """One graph to build: what a target is told beside the module."""

    options: Options
    environment: Environment
    kind: str
    """`inference`, `forward` or `backward`."""
    trace: Trace = field(default_factory=lambda: Trace(""))
    """Where to note what happens."""
    target: Target | None = None
    """What builds it: `build` fills this in."""
    target_options: Mapping[str, object] = field(default_factory=dict[str, object])
    """The options of that target's own, all of them."""

    @property
    def dump_folder(self) -> Path | None:
        """Where to write the IR after each pass, None for nowhere."""
        return Path(self.options.dump) if self.options.dump else self.environment.dump

    @property
    def cache_folder(self) -> Path:
        """Where compiled libraries are kept."""
        return Path(self.options.cache_dir) if self.options.cache_dir else self.environment.cache


Builder = Callable[[Graph, Request], Run | Building]


def build(name: str, graph: Graph, request: Request) -> Run | Building:
    """What target `name` makes of the graph."""
    chosen = target(name)
    own = options_of_target(chosen, request.options.target_options)
    try:
        builder: Builder = code(chosen.build)
        return builder(graph, replace(request, target=chosen, target_options=own))
    except ImportError as error:
        raise MissingTarget(name=name, reason=str(error)) from error
