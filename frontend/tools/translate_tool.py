"""`tilewright-translate`: from and to other languages: source text of targets, other dialects of MLIR."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline, verify_hook
from tilewright.targets.registry import emitter, known_languages

from ..collector import collector_off
from .tool_io import ToolArguments, guarded, load_passes, parse_module, read_text, verify_input, write_text

IR = "mlir"
SOURCES = ("linalg", "stablehlo")
"""What `--from` reads, see frontend/mlir_import."""


_EPILOG = """\
examples:
  tilewright-opt net.mlir --pipeline=cpu | tilewright-translate --to=cpp
  tilewright-translate net.mlir --to=linalg -o linalg.mlir
  tilewright-translate layer.mlir --from=stablehlo --print-debuginfo
"""


def arguments() -> argparse.ArgumentParser:
    """The options of the tool."""
    parser = ToolArguments(
        prog="tilewright-translate", description="Translate to or from another language.", epilog=_EPILOG
    )
    flag = parser.add_argument
    flag("file", nargs="?", default="-", help="input (.mlir); standard input if left out")
    flag("--to", metavar="LANGUAGE", help=f"one of: {', '.join(known_languages())}; with --from also mlir")
    flag("--from", dest="source", metavar="DIALECT", help=f"read another dialect: {', '.join(SOURCES)}")
    flag("--print-debuginfo", action="store_true", help="print locations, with --to=mlir")
    flag("--load", action="append", default=[], metavar="FILE", help="Python file or module to import first")
    flag("-p", "--passes", default="", help="passes to run first")
    flag("-o", "--output", help="output file; standard output if left out")
    return parser


def run(args: argparse.Namespace) -> int:
    """The tool, given its parsed arguments; returns the exit status."""
    for where in args.load:
        load_passes(where)
    language = args.to or IR
    plain = args.source and language == IR
    emit = partial(module_text, locations=args.print_debuginfo) if plain else emitter(language)
    given = read_text(args.file)
    try:
        text = _translated(args, given, emit, places=False)
    except TilewrightError:
        text = _translated(args, given, emit, places=True)  # fails again, and names the line of the file
    write_text(args.output, text)
    return 0


def _translated(args: argparse.Namespace, text: str, emit: Callable[[ModuleOp], str], *, places: bool) -> str:
    """The other language; with `places`, its comments name lines of the file where there are no locations."""
    ctx = new_context()
    name = "<stdin>" if args.file == "-" else args.file
    module = _read(ctx, text, name, args.source, places=places)
    run_pipeline(ctx, module, parse_pipeline(args.passes), hooks=[verify_hook()])
    return emit(module)


def _read(ctx: Context, text: str, name: str, source: str | None, *, places: bool) -> ModuleOp:
    if source is None:
        module = parse_module(ctx, text, name, places=places)
        verify_input(module, name)
        return module
    from ..mlir_import.text import import_text

    return import_text(text, source, name)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script; `argv` is given where the process goes on afterwards."""
    if argv is None:
        collector_off()
    parser = arguments()
    args = parser.parse_args(argv)
    if args.to is None and args.source is None:
        parser.error("--to or --from is missing")
    if args.source not in (None, *SOURCES):
        parser.error(f"--from takes one of: {', '.join(SOURCES)}")
    return guarded(lambda: run(args))


if __name__ == "__main__":
    raise SystemExit(main())
