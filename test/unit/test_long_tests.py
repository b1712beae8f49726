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
        if not name:  # of a whole folder
            assert (TEST / file.partition("/")[0]).is_dir(), line
            continue
        tree = ast.parse((TEST / file).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        function = name.partition("[")[0]
        assert any(fnmatchcase(known, function) for known in names), line


def test_it_is_what_is_left_out(request: pytest.FixtureRequest) -> None:
    """The expression that `make test` and `make test-long` select by knows the mark."""
    assert any(line.startswith("long:") for line in request.config.getini("markers"))
    assert "not long" in request.config.getini("addopts")


def test_some_stay_of_a_table() -> None:
    """Of each as many; which, their names decide; one that is asked for by its name stays."""
    tables = [[f"test/e2e/test_one.py::test_{name}[{i}]" for i in range(30)] for name in ("a", "b")]
    others = ["test/e2e/test_one.py::test_other[1]", "test/unit/test_lexer.py::test_numbers"]
    long = long_tests([*tables[0], *others, *tables[1]])
    one, other = (len(long.intersection(table)) for table in tables)
    assert 0 < one == other < 30
    assert not long.intersection(others)
    assert long_tests(list(reversed(tables[0]))) == long.intersection(tables[0])
    assert not any(long_tests([node]) for node in tables[0])


def test_the_last_line_that_fits_counts() -> None:
    nodes = [f"test/e2e/test_{file}.py::test_a[{i}]" for file in ("one", "op_matrix") for i in range(30)]
    kept = set(nodes) - long_tests(nodes)
    counts = [sum(file in node for node in kept) for file in ("one", "op_matrix")]
    assert counts == [1, 2]
