"""Each pass is named, placed, documented with IR and covered by a lit file; each error has its own code."""

import ast
import re
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import RegistrationClash, TilewrightError, UnknownName
from tilewright.passes import registry
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.passes.pipeline import PIPELINES

ROOT = Path(__file__).parents[2]
LIT = ROOT / "test" / "passes"
OURS = [name for name, where in registry.PASSES.items() if where.startswith("tilewright.")]
LAYERS = ("dialects", "passes", "targets", "frontend")


@pytest.mark.parametrize("name", OURS)
def test_pass_name_class_file_and_test_agree(name: str) -> None:
    module, _, class_name = registry.PASSES[name].partition(":")
    cls = registry.pass_class(name)
    snake = name.replace("-", "_")
    assert cls.name == name
    assert class_name.lower() == name.replace("-", "") + "pass"
    assert module.rpartition(".")[2] == snake
    assert (LIT / f"{snake}.mlir").is_file()


@pytest.mark.parametrize("name", OURS)
def test_pass_docstring_shows_ir(name: str) -> None:
    doc = str(registry.pass_class(name).__doc__)
    assert re.search(r"^\s*Before", doc, re.MULTILINE), doc
    assert re.search(r"^\s*After", doc, re.MULTILINE), doc


def test_every_pass_file_is_registered() -> None:
    registered = {where.partition(":")[0] for where in registry.PASSES.values()}
    unregistered: list[str] = []
    for path in sorted((ROOT / "passes").rglob("*.py")):
        module = "tilewright." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        defines = any(
            isinstance(node, ast.ClassDef) and any(ast.unparse(b) == "ModulePass" for b in node.bases)
            for node in ast.parse(path.read_text()).body
        )
        if defines and module not in registered:
            unregistered.append(module)
    assert unregistered == []


@pytest.mark.parametrize("target", PIPELINES)
def test_pipeline_names_resolve(target: str) -> None:
    assert len(parse_pipeline(",".join(PIPELINES[target]))) == len(PIPELINES[target])


def test_registered_pass_runs_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.TABLE, "added", {})
    seen: list[int] = []

    @registry.register_pass
    @dataclass(frozen=True)
    class HelloPass(ModulePass):
        name = "hello"
        times: int = 1

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            seen.append(self.times)

    run_pipeline(Context(), ModuleOp([]), parse_pipeline("hello{times=3},hello"))
    assert seen == [3, 1]
    assert "hello" in registry.pass_names()
    assert registry.register_pass(HelloPass) is HelloPass


def test_register_pass_refuses_a_taken_name() -> None:
    class DcePass(ModulePass):
        name = "dce"

    with pytest.raises(RegistrationClash, match="TW3907: a pass named `dce` exists"):
        registry.register_pass(DcePass)


def test_unknown_pass_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean `canonicalize`"):
        registry.pass_class("canonicalise")


def error_classes() -> Iterator[tuple[str, str]]:
    """(module, class) of each class with a literal `code = "TW...."` in its body."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            module = "tilewright." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and any(_code(item) for item in node.body):
                    yield module, node.name


def _code(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
            return code
        case _:
            return None


ERRORS = list(error_classes())


def test_error_codes_are_unique() -> None:
    codes: Counter[str] = Counter()
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    codes.update(code for item in node.body if (code := _code(item)))
    assert [code for code, count in codes.items() if count > 1] == []


@pytest.mark.parametrize(("module", "name"), ERRORS, ids=[name for _, name in ERRORS])
def test_error_says_what_why_and_what_next(module: str, name: str) -> None:
    cls = getattr(import_module(module), name)
    assert re.fullmatch(r"TW[123]\d{3}", cls.code)
    if not issubclass(cls, TilewrightError):
        return
    parts = [cls.what, cls.why, cls.fix]
    facts = {field for text in parts for _, field, _, _ in string.Formatter().parse(text) if field}
    assert "where" not in facts, "`where` is the place of the error, name the fact differently"
    facts.discard("op")  # given by the operation
    text = str(cls(test.TestOp(), where="here", **dict.fromkeys(facts, "X")))
    lines = [line for line in text.splitlines() if not line.startswith("         ")]  # a text of many lines
    assert [line.split(":")[0].strip() for line in lines] == [cls.code, "where", "why", "fix", "ir"]
