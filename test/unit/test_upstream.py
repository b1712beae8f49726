"""Upstream MLIR judges every module that a lit test feeds to tilewright-opt or gets from it."""

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tilewright.dialects import upstream
from tilewright.frontend.tools import opt_tool

TEST = Path(__file__).parents[1]
FILES = [p for p in sorted(TEST.rglob("*.mlir")) if "importroot" not in p.parts]
RUN = re.compile(r"^//\s*RUN:\s*(tilewright-opt .*?)(\||>|2>|&&|$)", re.MULTILINE)

pytestmark = pytest.mark.skipif(not upstream.available(), reason="needs the upstream extra")


def commands(path: Path, folder: Path) -> Iterator[list[str]]:
    """The arguments of each plain `tilewright-opt` run of a lit file; lit itself checks what modules mean."""
    for match in RUN.finditer(path.read_text()):
        text = match[1].replace("%s", str(path)).replace("%t", str(folder / "t"))
        yield [argument for argument in shlex.split(text)[1:] if argument != "--check-semantics"]


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(TEST)) for p in FILES])
def test_upstream_accepts_input_and_output(path: Path, tmp_path: Path) -> None:
    expected = path.read_text().count("TW3909")
    for argv in commands(path, tmp_path):
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            opt_tool.main([*argv, "--verify-upstream"])
        if not expected:
            assert "TW3909" not in out.getvalue(), f"{shlex.join(argv)}\n{out.getvalue()}"
