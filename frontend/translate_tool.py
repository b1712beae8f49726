"""`tilewright-translate`: turn a scheduled module into the source text of a target."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook
from tilewright.targets.registry import emitter, known_languages

from .tool_io import ToolArguments, guarded, load_passes, parse_module, read_text, verify_input, write_text


def _arguments() -> argparse.ArgumentParser:
    parser = ToolArguments(prog="tilewright-translate", description="Emit source text for scheduled kernels.")
    flag = parser.add_argument
    flag("file", nargs="?", default="-", help="input (.mlir); standard input if left out")
    flag("--to", required=True, metavar="LANGUAGE", help=f"one of: {', '.join(known_languages())}")
    flag("--load", action="append", default=[], metavar="FILE", help="Python file or module to import first")
    flag("-p", "--passes", default="", help="passes to run first")
    flag("-o", "--output", help="output file; standard output if left out")
    return parser


def run(args: argparse.Namespace) -> int:
    """The tool, given its parsed arguments; returns the exit status."""
    for where in args.load:
        load_passes(where)
    emit = emitter(args.to)
    ctx = new_context()
    name = "<stdin>" if args.file == "-" else args.file
    module = parse_module(ctx, read_text(args.file), name)
    verify_input(module, name)
    run_pipeline(ctx, module, parse_pipeline(args.passes), hooks=[verify_hook])
    write_text(args.output, emit(module))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    args = _arguments().parse_args(argv)
    return guarded(lambda: run(args))


if __name__ == "__main__":
    raise SystemExit(main())
