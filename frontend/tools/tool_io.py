"""What the command-line tools share: reading IR, writing text, and errors without tracebacks."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import walk_tb
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.dialects.diagnostics import (
    BadCommandLine,
    InvalidInput,
    TilewrightError,
    UnloadablePass,
    UnreadableInput,
    UnwritableOutput,
)
from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.verification import Verifier, broken_op

from ..collector import collector_paused

_COMMENT = re.compile(r"//.*")
_SEPARATOR = re.compile(r"^// -----[ \t]*$", re.MULTILINE)


class ToolArguments(argparse.ArgumentParser):
    """An argument parser whose errors look like every other error of this project."""

    def __init__(self, *, prog: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        print(BadCommandLine(tool=self.prog, message=message, usage=self.format_usage()), file=sys.stderr)
        raise SystemExit(2)


def read_text(file: str) -> str:
    """The contents of a file, or of standard input for `-`."""
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInput(
            file=file, reason=error, advice="give the path of a readable text file"
        ) from error


def write_text(file: str | None, text: str) -> None:
    """Write to a file, or to standard output for None or `-`."""
    if file is None or file == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnwritableOutput(file=file, reason=error) from error


def make_folder(folder: Path) -> Path:
    """The folder, with those above it; raises UnwritableOutput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableOutput(file=folder, reason=error) from error
    return folder


def chunks(text: str, *, split: bool) -> Iterator[str]:
    """The parts between `// -----` lines, each padded so that its line numbers stay those of the file."""
    start = 0
    for match in _SEPARATOR.finditer(text) if split else ():
        yield "\n" * text.count("\n", 0, start) + text[start : match.start()]
        start = match.end()
    yield "\n" * text.count("\n", 0, start) + text[start:]


def parse_module(ctx: Context, text: str, file: str, *, places: bool = True) -> ModuleOp:
    """Parse a module; whatever the parser trips over becomes UnreadableInput.

    As for upstream, text without an op is a module without ops, and, with `places`, an op without a location
    gets its place in the file.
    """
    if not _COMMENT.sub("", text).strip():
        return ModuleOp([])
    parser: ModuleParser | None = None
    try:
        parser = ModuleParser(ctx, text, file, places=places)  # reads the first token
        return parser.parse_module()
    except ParseError as error:
        advice = "correct the text at the mark; docs/ops.md lists every op with its syntax"
        raise UnreadableInput(file=file, reason=error, advice=advice) from error
    except TilewrightError:
        raise
    except Exception as error:
        # Malformed text also surfaces as KeyError, ValueError, RecursionError ... inside xDSL's parser.
        known = isinstance(error, DiagnosticException)
        reason = error if known else f"the parser failed with {type(error).__name__}: {error}"
        advice = "correct what stands in front of this place; docs/ops.md lists every op with its syntax"
        where = parser.place() if parser is not None else None
        raise UnreadableInput(where=where, file=file, reason=reason, advice=advice) from error


def verify_input(module: ModuleOp, file: str) -> Verifier:
    """Raise InvalidInput where the module breaks a rule of an op or of dominance; else what knows it."""
    verifier = Verifier()
    try:
        verifier.verify(module)
    except TilewrightError:
        raise
    except (DiagnosticException, ValueError) as error:
        op, reason = broken_op(module) or (None, error)
        raise InvalidInput(op, file=file, reason=reason) from error
    return verifier


def load_passes(where: str) -> None:
    """Import a Python file or module for its `@register_pass` side effect."""
    origin = str(Path(where).absolute())
    try:
        if not where.endswith(".py"):
            importlib.import_module(where)
            return
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        beside = str(Path(where).resolve().parent)  # as for a script: its neighbours can be imported
        sys.path.extend([beside] if beside not in sys.path else [])
        spec.loader.exec_module(module)
    except TilewrightError:
        raise
    except Exception as error:
        line = next((n for f, n in walk_tb(error.__traceback__) if f.f_code.co_filename == origin), None)
        place = f"line {line}: " if line is not None else ""
        raise UnloadablePass(source=where, reason=f"{place}{type(error).__name__}: {error}") from error


def guarded(body: Callable[[], int]) -> int:
    """Run a tool; a diagnostic goes to stderr and makes the exit status 1."""
    try:
        with collector_paused():
            return body()
    except DiagnosticException as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
