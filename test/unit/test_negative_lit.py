"""Every message with which a dialect refuses IR, or a pass declines, is provoked by a lit test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What the checks of dialects/tw/base.py say about the fact that they are given.
FACTS = {
    "expect_equal": "{fact} is .*, expected",
    "expect_sizes": r"{fact} is \[.*\], expected",
    "expect_element": "{fact} has element type .*, expected",
    "expect_rank": "{fact} has rank .*, expected",
    "expect_kind": "element type is .*, expected",
    "expect_axes": "{fact} (is )?\\[.*expected",
    "expect_axis": "dim is .*, expected",
    "checked_exprs": "{fact}(:| is) ",
}


@dataclass(frozen=True)
class Rule:
    """One place that refuses IR: what a test must expect there."""

    place: str
    pattern: str


def text_of(node: ast.expr) -> str | None:
    """A message as a regular expression: what is filled in at run time may be anything."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(text_of(p) or ".*" if isinstance(p, ast.Constant) else ".*" for p in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{text_of(left) or '.*'}{text_of(right) or '.*'}"
        case _:
            return None


def pattern_of(call: ast.Call, op: str) -> str | None:
    """What the message of a refusing call looks like, None for another call."""
    name = getattr(call.func, "id", None)
    if name == "VerifyException" and call.args:
        return text_of(call.args[0])
    if name == "fail" and len(call.args) == 2:
        return f"{op}: {text_of(call.args[1]) or '.*'}"
    if name == "skip" and len(call.args) == 2:
        return text_of(call.args[1])
    if name in FACTS:
        fact = text_of(call.args[1]) if len(call.args) > 2 else ""
        return f"{op}: {FACTS[name].replace('{fact}', fact or '.*')}"
    return None


def rules_of(path: Path) -> Iterator[Rule]:
    """Every refusing call of a file, with the name of the op in whose class it stands."""
    tree = ast.parse(path.read_text())
    for top in tree.body:
        op = op_name(top) if isinstance(top, ast.ClassDef) else ".*"
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and (pattern := pattern_of(node, op)):
                if pattern.count(".*") and not re.sub(r"\.\*|\W", "", pattern):
                    continue  # it passes on what another check said
                yield Rule(f"{path.relative_to(ROOT)}:{node.lineno}", pattern)


def op_name(class_: ast.ClassDef) -> str:
    """`tw.exp`; anything for a base of several ops."""
    for node in class_.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "name":
            return re.escape(ast.literal_eval(node.value))
    return ".*"


def expected_lines() -> list[str]:
    """What lit tests expect as diagnostics."""
    lines: list[str] = []
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        lines += [line for line in path.read_text().splitlines() if re.match(r"\s*// [A-Z]+[A-Z-]*:", line)]
    return lines


def missing(layer: str) -> list[str]:
    lines = expected_lines()
    found: list[str] = []
    for path in sorted((ROOT / layer).rglob("*.py")):
        for rule in rules_of(path):
            if not any(re.search(rule.pattern.removesuffix("\\ .*"), line) for line in lines):
                found.append(f"{rule.place}: {rule.pattern}")
    return found


def test_every_rule_is_provoked() -> None:
    assert missing("dialects") == []


def test_every_decline_has_a_case() -> None:
    assert missing("passes") == []
