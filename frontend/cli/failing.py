"""What `reduce` and `bisect` share: what is done with a module, and what counts as failing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline
from tilewright.targets.registry import pipeline as target_pipeline

from ..tools.tool_io import load_passes, parse_module, read_text, verify_input

_F = TypeVar("_F", bound=Callable[..., Any])


def failing_options(command: _F) -> _F:
    """FILE and the options that say how it fails."""
    for option in reversed(
        (
            click.argument("file"),
            click.option("-p", "--passes", default="", help="passes to run, e.g. fuse{max-ops=64},dce"),
            click.option("--pipeline", help="a target's whole pipeline (cpu, ...), before -p"),
            click.option("--load", multiple=True, metavar="FILE", help="Python file with more passes"),
            click.option("--seed", default=0, show_default=True, help="of the inputs"),
            click.option(
                "--no-semantics", is_flag=True, help="never run the module: crashes and errors only"
            ),
            click.option(
                "--test",
                "script",
                type=click.Path(path_type=Path),
                help="executable that gets a file; what its exit status says is all that counts",
            ),
        )
    ):
        command = option(command)
    return command


def passes_of(load: Sequence[str], pipeline: str | None, passes: str) -> tuple[ModulePass, ...]:
    """The pipeline that the options name."""
    for where in load:
        load_passes(where)
    whole = parse_pipeline(",".join(target_pipeline(pipeline))) if pipeline is not None else ()
    return whole + parse_pipeline(passes)


def read_module(file: str, *, places: bool = True) -> ModuleOp:
    """The verified module of a file; with `places`, what is said of an op names its line."""
    module = parse_module(new_context(), read_text(file), file, places=places)
    verify_input(module, file)
    return module


def emitter_of(language: str | None) -> Callable[[ModuleOp], object] | None:
    """What emits that language, if one is asked for."""
    if language is None:
        return None
    from ..tools.translate_tool import emitter

    return emitter(language)
