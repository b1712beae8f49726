"""What test/long_tests.txt names is there."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

TEST = Path(__file__).parents[1]
LINES = [line for line in (TEST / "long_tests.txt").read_text().splitlines() if line and line[0] != "#"]


def test_every_line_names_a_test() -> None:
    for line in LINES:
        file, _, name = line.partition("::")
        tree = ast.parse((TEST / file).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        function = name.partition("[")[0]
        assert any(fnmatchcase(known, function) for known in names), line


def test_it_is_what_is_left_out(request: pytest.FixtureRequest) -> None:
    """The expression that `make test` and `make test-long` select by knows the mark."""
    assert any(line.startswith("long:") for line in request.config.getini("markers"))
    assert "not long" in request.config.getini("addopts")
