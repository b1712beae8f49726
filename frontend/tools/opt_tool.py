"""`tilewright-opt`: run passes on a file, the tool behind every lit test."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.diagnostics import BrokenPlugin, UnknownPlace
from tilewright.dialects.registry import new_context
from tilewright.dialects.verification import Verifier
from tilewright.passes.insertions import insert_passes
from tilewright.passes.manager import (
    Dump,
    Hook,
    PassRun,
    Timing,
    location_hook,
    module_text,
    parse_pipeline,
    run_pipeline,
    verify_hook,
)
from tilewright.passes.pass_options import usage
from tilewright.passes.registry import pass_class, pass_names
from tilewright.passes.rewrite import Remark, remarks_to
from tilewright.targets.registry import pipeline, pipeline_names

from ..collector import collector_off
from .check_writer import diff_text, lit_test, pass_flags
from .tool_io import (
    ToolArguments,
    chunks,
    guarded,
    load_passes,
    parse_module,
    read_text,
    verify_input,
    write_text,
)

if TYPE_CHECKING:
    from ..check.session import SemanticCheck


_EPILOG = """\
examples:
  tilewright-opt net.mlir -p 'fuse{max-ops=64},dce' --remarks
  tilewright-opt net.mlir --pipeline=cpu --print-ir-after-all --timing -o /dev/null
  tilewright-opt net.mlir --pipeline=cpu --insert after:fuse=my-pass --load my_pass.py --check-semantics
"""


def arguments() -> argparse.ArgumentParser:
    """The options of the tool."""
    parser = ToolArguments(
        prog="tilewright-opt", description="Run tilewright passes on MLIR text.", epilog=_EPILOG
    )
    flag = parser.add_argument
    flag("file", nargs="?", default="-", help="input (.mlir); standard input if left out")
    flag("-o", "--output", help="output file; standard output if left out")
    flag("-p", "--passes", default="", help="pipeline, e.g. fuse{max-ops=64},dce")
    flag("--pipeline", help=f"a target's whole pipeline ({', '.join(pipeline_names())}), before -p")
    flag(
        "--insert",
        action="append",
        default=[],
        metavar="PLACE=PASSES",
        help="put passes around those of --pipeline and -p, e.g. after:fuse=my-pass",
    )
    flag("--load", action="append", default=[], metavar="FILE", help="Python file or module with more passes")
    flag("--list-passes", action="store_true", help="print every pass with its options, and exit")
    flag(
        "--split-input-file", action="store_true", help="treat the parts between `// -----` lines separately"
    )
    flag("--allow-unregistered-dialect", action="store_true", help="accept ops that no dialect defines")
    flag(
        "--no-verify",
        "--disable-verify",
        action="store_true",
        help="verify neither the input nor after each pass",
    )
    flag(
        "--check-semantics",
        action="store_true",
        help="run the module before and after each pass on seeded and boundary inputs; name the guilty pass",
    )
    flag("--check-seed", type=int, default=0, metavar="N", help="seed of the inputs of --check-semantics")
    flag("--verify-locations", action="store_true", help="refuse passes that lose source locations")
    flag("--verify-upstream", action="store_true", help="have upstream MLIR verify input and output")
    flag(
        "--verify-diagnostics",
        "--parsing-diagnostics",
        action="store_true",
        help="print errors to standard output and exit with 0",
    )
    flag(
        "--print-generic", "--print-op-generic", action="store_true", help="print ops in MLIR's generic form"
    )
    flag("--print-debuginfo", action="store_true", help="print source locations")
    flag("--print-ir-after-all", action="store_true", help="print the module after each pass, to stderr")
    flag("--dump", type=Path, metavar="DIR", help="write 07-pass-name.mlir after each pass")
    flag("--diff", action="store_true", help="print what the passes changed, instead of the module")
    flag("--write-test", metavar="FILE", help="write a lit test that expects this run's output")
    flag("--timing", action="store_true", help="print the time of each pass, to stderr")
    flag("--remarks", action="store_true", help="print why patterns left ops alone, to stderr")
    return parser


def _pipeline(args: argparse.Namespace) -> tuple[ModulePass, ...]:
    whole = parse_pipeline(",".join(pipeline(args.pipeline))) if args.pipeline is not None else ()
    insertions: dict[str, list[str]] = {}
    for given in args.insert:
        place, _, passes = given.partition("=")
        if not passes:
            raise UnknownPlace(place=given, reason="no pass follows: it is written as PLACE=PASSES")
        insertions.setdefault(place, []).append(passes)
    return insert_passes(whole + parse_pipeline(args.passes), insertions)


def _print_after(run: PassRun, module: ModuleOp) -> None:
    print(f"// IR after {run.index} {run.spec}\n{module_text(module)}", file=sys.stderr)


@contextmanager
def _remarks_printed() -> Generator[None]:
    """Print the remarks of the block to stderr, equal ones once: passes try again after each change."""
    found: Counter[Remark] = Counter()
    try:
        with remarks_to(lambda remark: found.update([remark])):
            yield
    finally:
        for remark, count in found.items():
            print(f"remark: {remark}{f' ({count}x)' if count > 1 else ''}", file=sys.stderr)


def _hooks(
    args: argparse.Namespace, module: ModuleOp, verifier: Verifier | None, timing: Timing | None
) -> list[Hook]:
    """What happens after each pass; printing and dumping come before verification can stop."""
    hooks: list[Hook] = []
    if timing is not None:
        hooks.append(timing)
    if args.print_ir_after_all:
        hooks.append(_print_after)
    if args.dump is not None:
        hooks.append(Dump(args.dump))
    if verifier is not None:
        hooks.append(verify_hook(verifier))
    if args.verify_locations:
        hooks.append(location_hook(module))
    return hooks


def _upstream_check(args: argparse.Namespace) -> Callable[[ModuleOp], None]:
    if not args.verify_upstream:
        return lambda module: None
    from tilewright.dialects.upstream import verify_upstream  # loads a 100 MB library

    return verify_upstream


def _semantic_check(args: argparse.Namespace, module: ModuleOp, name: str) -> SemanticCheck | None:
    """The hook of --check-semantics; the module is run here for the first time."""
    if not args.check_semantics:
        return None
    from ..check.aten_callback import aten_callback  # imports NumPy
    from ..check.session import SemanticCheck

    return SemanticCheck(module, seed=args.check_seed, aten=aten_callback).ready(name)


def _process(args: argparse.Namespace, passes: Sequence[ModulePass], text: str, timing: Timing | None) -> str:
    """One chunk from text to text."""
    ctx = new_context(allow_unregistered=args.allow_unregistered_dialect)
    check = _upstream_check(args)
    name = "<stdin>" if args.file == "-" else args.file
    module = parse_module(ctx, text, name)
    verifier = None if args.no_verify else verify_input(module, name)
    check(module)
    if args.dump is not None:
        Dump(args.dump).write("00-input.mlir", module_text(module))
    before = module_text(module, locations=False) if args.diff else ""
    semantics = _semantic_check(args, module, name)
    hooks = _hooks(args, module, verifier, timing)
    with _remarks_printed() if args.remarks else nullcontext():
        run_pipeline(ctx, module, passes, hooks=hooks if semantics is None else [*hooks, semantics])
    check(module)
    if semantics is not None:
        sys.stderr.write(semantics.summary())
    if args.write_test is not None:
        flags = pass_flags(args.passes, args.pipeline, args.load, args.insert)
        test = lit_test(text, module_text(module, locations=False), flags, file=name)
        write_text(args.write_test, test)
    if args.diff:
        return diff_text(before, module_text(module, locations=False), ",".join(map(str, passes)))
    return module_text(module, generic=args.print_generic, locations=args.print_debuginfo)


def _list_passes() -> int:
    """Print them; a plug-in that cannot be used is said so in its place, and makes the status 1."""
    status = 0
    for name in pass_names():
        try:
            cls = pass_class(name)
        except BrokenPlugin as error:
            lines = str(error).replace("\n", "\n    ")
            print(f"{name}\n    {lines}")
            status = 1
            continue
        summary = (cls.__doc__ or "").strip().splitlines() or [""]
        print(f"{name}\n    {summary[0]}\n    {usage(cls)}")
    return status


def run(args: argparse.Namespace) -> int:
    """The tool, given its parsed arguments; returns the exit status."""
    for where in args.load:
        load_passes(where)
    if args.list_passes:
        return _list_passes()
    passes = _pipeline(args)
    timing = Timing() if args.timing else None
    outputs: list[str] = []
    for text in chunks(read_text(args.file), split=args.split_input_file):
        try:
            outputs.append(_process(args, passes, text, timing))
        except DiagnosticException as error:
            if not args.verify_diagnostics:
                raise
            outputs.append(f"{error}\n")
    write_text(args.output, "// -----\n".join(outputs))
    if timing is not None:
        sys.stderr.write(timing.report())
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script; `argv` is given where the process goes on afterwards."""
    if argv is None:
        collector_off()
    args = arguments().parse_args(argv)
    return guarded(lambda: run(args))


if __name__ == "__main__":
    raise SystemExit(main())
