"""Who may import whom, read from the source so that lazy imports count too."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = {
    "dialects": set[str](),
    "passes": {"dialects"},
    "targets": {"dialects", "passes"},
    "frontend": {"dialects", "passes", "targets"},
}
FOLDERS_OF_PASSES = (
    {"kernels"},
    {"memory"},
    {"schedule"},
    {"functions"},
    {"fusion"},
    {"reductions"},
    {"tensor", "layout", "lowering"},
    {"products"},
    {"host"},
)
"""Each imports what stands above it, and of its own row."""
TORCH_ALLOWED = (
    "frontend/*",
    "targets/*/launch*.py",
    "targets/native/launch_calls.py",
    "targets/gpu_triton/emulator/*",
)
TORCH_FORBIDDEN = (
    "frontend/tools/opt_tool.py",
    "frontend/tools/translate_tool.py",
    "frontend/tools/tool_io.py",
    "frontend/public_api.py",
    "frontend/tools/op_reference.py",
    "frontend/dump.py",
    "frontend/environment.py",
)
TORCH_NAMES = {"torch", "torchvision", "functorch"}
UPSTREAM_NAMES = {"mlir", "torch_mlir"}


def sources(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Every imported module as (level, dotted name), `importlib.import_module("...")` included."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(module=name, level=level, names=aliases):
                yield level, name or aliases[0].name
            case ast.Import(names=aliases):
                yield from ((0, alias.name) for alias in aliases)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield 0, name
            case _:
                continue


def crossings(layer: str) -> Iterator[tuple[str, str]]:
    """Every import that leaves `layer`, as (file, where it goes)."""
    for path in sources(layer):
        file = str(path.relative_to(ROOT))
        depth = len(path.relative_to(ROOT / layer).parts)
        for level, name in imports(path):
            head, _, rest = name.partition(".")
            if level > depth:
                yield file, "a relative import that leaves the layer"
            elif level == 0 and head == "tilewright":
                yield file, rest.split(".")[0]
            elif level == 0 and head in BELOW:
                yield file, f"{name} without the tilewright prefix"


@pytest.mark.parametrize("layer", BELOW)
def test_layer_imports_only_what_is_below(layer: str) -> None:
    allowed = BELOW[layer]
    assert [(file, to) for file, to in crossings(layer) if to not in {*allowed, layer}] == []


@pytest.mark.parametrize("layer", BELOW)
def test_layer_imports_itself_relatively(layer: str) -> None:
    lazily_named = {"dialects/registry.py", "passes/registry.py", "frontend/public_api.py"}
    inside = [file for file, to in crossings(layer) if to == layer]
    assert [file for file in inside if file not in lazily_named] == []


def _folders_imported(folder: str) -> set[str]:
    """The folders of passes/ whose modules those of one import."""
    found: set[str] = set()
    for path in sources(f"passes/{folder}"):
        package = path.relative_to(ROOT / "passes").parts[:-1]
        for level, name in imports(path):
            if level > 0:
                found.add([*package[: len(package) - level + 1], *name.split(".")][0])
    return found


def test_folders_of_passes_import_what_stands_above_them() -> None:
    folders = {path.name for path in (ROOT / "passes").iterdir() if (path / "__init__.py").is_file()}
    assert folders == set[str]().union(*FOLDERS_OF_PASSES)
    above: set[str] = set()
    for row in FOLDERS_OF_PASSES:
        above |= row
        for folder in sorted(row):
            assert _folders_imported(folder) & folders <= above, folder


def test_targets_do_not_import_each_other() -> None:
    """All of them may import targets/native, which is no target and imports none."""
    folders = [p.name for p in sorted((ROOT / "targets").iterdir()) if p.is_dir() and p.name != "__pycache__"]
    wrong: list[tuple[str, str]] = []
    for folder in folders:
        for path in sources(f"targets/{folder}"):
            for _, name in imports(path):
                others = set(name.split(".")) & (set(folders) - {folder, "native"})
                wrong += [(str(path.relative_to(ROOT)), other) for other in sorted(others)]
    assert wrong == []


@pytest.mark.parametrize("layer", BELOW)
def test_torch_only_where_the_outside_world_begins(layer: str) -> None:
    wrong: list[str] = []
    for path in sources(layer):
        file = path.relative_to(ROOT).as_posix()
        if any(fnmatch(file, rule) for rule in TORCH_ALLOWED) and file not in TORCH_FORBIDDEN:
            continue
        if any(name.split(".")[0] in TORCH_NAMES for level, name in imports(path) if level == 0):
            wrong.append(file)
    assert wrong == []


@pytest.mark.parametrize("layer", BELOW)
def test_only_one_module_touches_upstream(layer: str) -> None:
    touching = {
        path.relative_to(ROOT).as_posix()
        for path in sources(layer)
        for level, name in imports(path)
        if level == 0 and name.split(".")[0] in UPSTREAM_NAMES
    }
    assert touching <= {"dialects/upstream.py"}


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("tilewright", ("torch", "xdsl")),
        ("tilewright.frontend.tools.opt_tool", ("torch", "torch_mlir", "numpy", "sympy", "triton")),
        ("tilewright.frontend.tools.translate_tool", ("torch", "torch_mlir", "numpy", "sympy", "triton")),
    ],
)
def test_tools_start_light(module: str, forbidden: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print([m for m in {forbidden!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_pass_imports_without_torch() -> None:
    program = (
        "import sys\n"
        "from tilewright.passes.registry import pass_class, pass_names\n"
        "for name in pass_names(): pass_class(name)\n"
        "print([m for m in ('torch', 'torch_mlir') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
