"""What test/long_tests.txt names is there."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from long_tests import LINES, long_tests

TEST = Path(__file__).parents[1]


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


def test_some_stay_of_a_table() -> None:
    """Which, their names decide; one that is asked for by its name stays."""
    of_one = [f"test/e2e/test_op_matrix.py::test_against_eager[odd-{i}]" for i in range(30)]
    others = ["test/e2e/test_op_matrix.py::test_other[1]", "test/unit/test_lexer.py::test_numbers"]
    long = long_tests([*of_one, *others])
    assert len(long) == 25
    assert long < set(of_one)
    assert long_tests(list(reversed(of_one))) == long
    assert not any(long_tests([node]) for node in of_one)
