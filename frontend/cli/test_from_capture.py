"""`tilewright test-from-capture`: a FileCheck test from a captured graph and a pass."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from xdsl.passes import ModulePass

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline, verify_hook
from tilewright.targets.registry import pipeline as passes_of

from ..capture import Captured, capture
from ..tools.check_writer import lit_test, pass_flags
from ..tools.tool_io import load_passes, parse_module, write_text
from .errors import NothingCaptured
from .subject import Named, takes_subject

_EPILOG = """\b
Example:
  tilewright test-from-capture model.py:f --input 4x8xf32 -p fuse -o test/passes/fuse_my_model.mlir
"""


@click.command(epilog=_EPILOG)
@takes_subject
@click.option("-p", "--passes", required=True, help="the passes to test, e.g. fuse,dce")
@click.option("--pipeline", default="cpu", show_default=True, help="whose passes before it to run first")
@click.option("--from-import", is_flag=True, help="start from the imported graph instead")
@click.option("--load", multiple=True, metavar="FILE", help="Python file or module with more passes")
@click.option("--graph", "number", default=0, show_default=True, help="which of the captured graphs")
@click.option("-o", "--output", help="output file; standard output if left out")
def command(
    named: Named,
    passes: str,
    pipeline: str,
    from_import: bool,
    load: Sequence[str],
    number: int,
    output: str | None,
) -> None:
    """Capture MODULE:FUNCTION, bring it to where a pass stands in a pipeline, and write its lit test.

    The test expects what the pass does now: read it, keep the lines that make the claim,
    and delete the rest.
    """
    for source in load:
        load_passes(source)
    subject = named.load()
    with named.calling(subject):
        graphs = capture(subject.call, subject.function, subject.dynamic)
    if number >= len(graphs):
        reason = f"it compiled {len(graphs)} graphs, and --graph {number} was asked for"
        raise NothingCaptured(
            subject=named.function, reason=reason, advice="give a smaller --graph, or other inputs"
        )
    tested = parse_pipeline(passes)
    first = "" if from_import else _before(pipeline, tested[0].name)
    flags = pass_flags(passes, load=load)
    write_text(output, _test(graphs[number], first, tested, flags, named.function))


def _before(pipeline: str, name: str) -> str:
    """The passes that stand before `name` in a pipeline; none, and a note, where it has no place there."""
    specs = passes_of(pipeline)
    names = [spec.partition("{")[0] for spec in specs]
    if name in names:
        return ",".join(specs[: names.index(name)])
    note = f"`{name}` has no place in the pipeline {pipeline}: the test starts from the imported graph"
    print(f"{note} (--pipeline gpu, or --from-import, which says so)", file=sys.stderr)
    return ""


def _test(graph: Captured, first: str, tested: Sequence[ModulePass], flags: str, file: str) -> str:
    ctx = new_context()
    module = parse_module(ctx, graph.text, graph.name)
    run_pipeline(ctx, module, parse_pipeline(first), hooks=[verify_hook()])
    before = module_text(module, locations=False)
    run_pipeline(ctx, module, tested, hooks=[verify_hook()])
    return lit_test(before, module_text(module, locations=False), flags, file=file)
