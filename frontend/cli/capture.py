"""`tilewright capture`: a script's or a function's graphs as `.mlir`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..capture import Captured, capture, capture_script
from ..tools.tool_io import make_folder, write_text
from .errors import FailedScript, NothingCaptured
from .subject import Named, takes_subject

_EPILOG = """\b
Examples:
  tilewright capture examples/unet.py:UNet --input 1x3x64x64xf32 --input 1xi64:0..1000 -o unet.mlir
  tilewright capture model.py:Model --input 4x16xi64:0..1000 --training -o graphs/
  tilewright capture train.py -o graphs/ -- --epochs 1
  tilewright capture model.py:f --input 8xf32 | tilewright opt -p canonicalize,fuse
"""


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": True})
@takes_subject
@click.option("-o", "--output", help="a file, or a folder (ends with /) for one file per graph")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    named: Named,
    output: str | None,
    arguments: Sequence[str],
) -> None:
    """Write the graphs that MODULE:FUNCTION compiles as MLIR text.

    A plain script.py is run with what follows `--`; everything that it compiles with
    backend="mlir" is written.
    """
    if ":" not in named.function and named.function.endswith(".py"):
        graphs = _script(named.function, arguments)
    else:
        from ..dynamo_internals import refusals, untraced

        subject = named.load()
        refused = refusals()
        with named.calling(subject):
            graphs = capture(subject.call, subject.function, subject.dynamic)
        if not graphs:
            reasons = [str(one) for one in untraced(refused)] or ["TorchDynamo found no tensor operation"]
            advice = "let the function compute with tensors that TorchDynamo traces; --input gives some"
            raise NothingCaptured(subject=named.function, reason="\n".join(reasons), advice=advice)
    _write(graphs, output)


def _script(script: str, arguments: Sequence[str]) -> list[Captured]:
    status, graphs = capture_script(script, arguments)
    if status != 0:
        raise FailedScript(script=script, status=status)
    if not graphs:
        reason = 'nothing in it ran through torch.compile(..., backend="mlir")'
        raise NothingCaptured(subject=script, reason=reason, advice="compile with this backend, and call it")
    return graphs


def _write(graphs: Sequence[Captured], output: str | None) -> None:
    if output is not None and output.endswith("/"):
        make_folder(Path(output))
        for graph in graphs:
            write_text(f"{output}{graph.name}.mlir", graph.text)
        return
    write_text(output, "// -----\n".join(graph.text for graph in graphs))
