"""docs/errors.md is current; every code is unique, raised somewhere, and expected by some test."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tilewright.frontend.errors import REASONS
from tilewright.frontend.tools.error_reference import LAYERS, ROOT, error_classes, reference

CODE = re.compile(r"TW\d{4}")


def sources() -> Iterator[Path]:
    for layer in LAYERS:
        yield from sorted(p for p in (ROOT / layer).rglob("*") if p.suffix in (".py", ".h"))


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/errors.md").read_text() == reference(), "run `make docs`"


def test_codes_are_unique() -> None:
    counts = Counter([error.code for error in error_classes()] + list(REASONS))
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_code_in_the_sources_is_documented() -> None:
    known = {error.code for error in error_classes()} | set(REASONS)
    ranges = {"TW1001", "TW1099"}  # in a module's docstring
    found = {(code, path.name) for path in sources() for code in CODE.findall(path.read_text())}
    assert sorted(item for item in found if item[0] not in known | ranges) == []


def names_used(path: Path) -> set[str]:
    """Names that are called or put into tables, definitions apart."""
    tree = ast.parse(path.read_text())
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def test_every_error_is_raised_somewhere() -> None:
    used = {name for path in sources() if path.suffix == ".py" for name in names_used(path)}
    assert [e.__name__ for e in error_classes() if e.__name__ not in used] == []


def test_every_error_is_expected_by_a_test() -> None:
    tests = [p for p in (ROOT / "test").rglob("*") if p.suffix in (".py", ".mlir", ".test") and p.is_file()]
    text = "\n".join(p.read_text() for p in tests if p != Path(__file__))
    missing = [
        f"{e.code} {e.__name__}" for e in error_classes() if e.code not in text and e.__name__ not in text
    ]
    missing += [code for code in REASONS if code not in text]
    assert missing == []
