"""What the generators of pages share: their command line, and a run in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .tool_io import load_passes


def run_generator(argv: Sequence[str] | None, own: Callable[[], str], added: Callable[[str], str]) -> int:
    """`[--load FILE.py] [PAGE.md]`: write `own()`, or what `added` says of a file that was loaded."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    source = None
    if arguments[:1] == ["--load"]:
        source, *arguments = arguments[1:]
        load_passes(source)
    text = own() if source is None else added(Path(source).name)
    if arguments:
        Path(arguments[0]).write_text(text)
    else:
        sys.stdout.write(text)
    return 0


def write_page(generator: str, page: Path, source: Path | None = None) -> Path:
    """Run a generator of this package in a new process, which sees files that are new; returns `page`."""
    load = [] if source is None else ["--load", str(source)]
    subprocess.run(
        [sys.executable, "-m", f"tilewright.frontend.tools.{generator}", *load, str(page)], check=True
    )
    return page


def header(title: str, source: str, generator: str) -> str:
    """Of the page of one file."""
    page = Path(source).with_suffix(".md")
    command = f"python -m tilewright.frontend.tools.{generator} --load {source} {page}"
    return f"# {title}\n\nGenerated from `{source}` by `{command}`; do not edit.\n"
