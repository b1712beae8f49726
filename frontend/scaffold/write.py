"""Fills the templates of this folder in, and registers what belongs into this repository."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from tilewright.dialects.registry import new_context
from tilewright.passes.registry import PASSES, pass_names

from ..cli.errors import CannotScaffold
from ..tools.tool_io import make_folder, write_text

HERE = Path(__file__).parent
LAYERS = tuple(sorted({where.split(".")[2] for where in PASSES.values() if where.count(".") > 2}))
"""Folders of `passes/` that a pass of this repository may live in."""
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


def new_pass(name: str, folder: Path) -> list[Path]:
    """A pass and its test, outside of this repository; returns the files."""
    _check_pass(name)
    names = _names(name)
    load = f" --load %S/{names['snake']}.py"
    return _write(
        {
            folder / f"{names['snake']}.py": _filled("pass_module.py.txt", names),
            folder / f"{names['snake']}.mlir": _filled("pass_test.mlir.txt", {**names, "load": load}),
        },
        page=folder / f"{names['snake']}.md",
    )


def new_pass_in_tree(name: str, layer: str, root: Path) -> list[Path]:
    """A pass of this repository: its file, its row in the registry, its test and its documentation."""
    _check_pass(name)
    names = _names(name)
    registry = root / "passes" / "registry.py"
    if not registry.is_file():
        reason = f"{root} is no checkout of tilewright"
        raise CannotScaffold(name=name, reason=reason, advice="leave out --in-tree")
    written = _write(
        {
            root / "passes" / layer / f"{names['snake']}.py": _filled("pass_in_tree.py.txt", names),
            root / "test" / "passes" / f"{names['snake']}.mlir": _filled(
                "pass_test.mlir.txt", {**names, "load": ""}
            ),
        }
    )
    row = f'    "{name}": "tilewright.passes.{layer}.{names["snake"]}:{names["camel"]}Pass",\n'
    text = registry.read_text()
    end = text.index("\n}\n", text.index("PASSES: ")) + 1
    registry.write_text(text[:end] + row + text[end:])
    return [*written, registry]


def new_op(name: str, folder: Path) -> list[Path]:
    """An op of a dialect of its own, with meaning, verifier, lowering and tests; returns the files."""
    dialect, dot, op = name.partition(".")
    if not dot or not _NAME.fullmatch(dialect) or not _NAME.fullmatch(op) or "-" in name:
        advice = "write dialect.op, e.g. mine.swish_norm"
        raise CannotScaffold(name=name, reason="it is no name of an op", advice=advice)
    if dialect in new_context().registered_dialect_names:
        advice = "choose another prefix; CONTRIBUTING.md says how the dialects of this project grow"
        raise CannotScaffold(name=name, reason=f"the dialect `{dialect}` exists", advice=advice)
    names = {**_names(op), "dialect": dialect}
    file = f"{dialect}_{names['snake']}"
    return _write(
        {
            folder / f"{file}.py": _filled("op_module.py.txt", names),
            folder / f"{file}.mlir": _filled("op_test.mlir.txt", {**names, "load": f" --load %S/{file}.py"}),
        },
        page=folder / f"{file}.md",
    )


def _check_pass(name: str) -> None:
    if not _NAME.fullmatch(name) or "_" in name:
        advice = "write it like fold-double-neg"
        raise CannotScaffold(name=name, reason="it is no name of a pass", advice=advice)
    if keyword.iskeyword(name):
        advice = "choose another name: the function and its file are named after it"
        raise CannotScaffold(name=name, reason="it is a keyword of Python", advice=advice)
    if name in pass_names():
        raise CannotScaffold(name=name, reason="a pass of this name exists", advice="choose another name")


def _names(name: str) -> dict[str, str]:
    words = re.split(r"[-_]", name)
    return {"name": name, "snake": "_".join(words), "camel": "".join(word.capitalize() for word in words)}


def _filled(template: str, names: Mapping[str, str]) -> str:
    return Template((HERE / template).read_text()).substitute(names)


def _write(files: Mapping[Path, str], page: Path | None = None) -> list[Path]:
    """All of them or none: nothing that exists is overwritten, `page`, which comes later, included."""
    for path in (*files, *([page] if page else [])):
        if path.exists():
            advice = "choose another name or --folder"
            raise CannotScaffold(name=path, reason="the file exists", advice=advice)
    for path, text in files.items():
        make_folder(path.parent)
        write_text(str(path), text)
    return list(files)
