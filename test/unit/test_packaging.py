"""What gets installed: one import package, quick to import, complete."""

import subprocess
import sys
import zipfile
from email import message_from_string
from importlib.metadata import Distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "-w", str(folder), "-q"]
    subprocess.run([*command, "--no-deps", "--no-build-isolation"], check=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_one_package(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tilewright"}


def test_wheel_holds_every_source_once(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert len(names) == len(set(names))
    kinds = {".py", ".h", ".cpp", ".typed", ".txt", ".html", ".css", ".js"}
    for layer in ("dialects", "passes", "targets", "frontend"):
        for path in (ROOT / layer).rglob("*"):
            if path.suffix in kinds and path.name != "public_api.py":
                assert f"tilewright/{path.relative_to(ROOT).as_posix()}" in names
    assert wheel.read("tilewright/__init__.py") == (ROOT / "frontend" / "public_api.py").read_bytes()
    assert "tilewright/py.typed" in names
    assert not [name for name in names if {"test", "__pycache__"} & set(name.split("/"))]


def test_entry_points(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    assert "[torch_dynamo_backends]\nmlir = tilewright.frontend.backend:compile_graph" in text
    assert "tilewright-opt = tilewright.frontend.tools.opt_tool:main" in text
    assert "tilewright-translate = tilewright.frontend.tools.translate_tool:main" in text


def test_wheel_works_unpacked(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import tilewright, tilewright.dialects.types, tilewright.frontend.tools.opt_tool\n"
        "print(tilewright.__file__, tilewright.__version__, tilewright.pass_names()[0])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.startswith(str(tmp_path / "tilewright" / "__init__.py"))


def test_import_is_lazy_and_quick() -> None:
    program = (
        "import time; start = time.process_time(); import tilewright; print(time.process_time() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert min(float(run.stdout) for run in runs) < 0.05


def test_every_public_name_resolves() -> None:
    import tilewright

    for name in tilewright.__all__:
        assert getattr(tilewright, name) is not None
    assert set(tilewright.__all__) <= set(dir(tilewright))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tilewright.nonsense


def test_a_checkout_on_the_path_says_the_same(wheel: zipfile.ZipFile) -> None:
    """PYTHONPATH=test/importroot registers the backend, too: for machines where nothing can be installed."""
    (found,) = Distribution.discover(path=[str(ROOT / "test/importroot")])
    texts = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    assert found.read_text("entry_points.txt") == texts["entry_points.txt"]
    wanted = message_from_string(texts["METADATA"])
    for field in ("Name", "Version", "Requires-Python", "Provides-Extra", "Requires-Dist"):
        assert found.metadata.get_all(field) == wanted.get_all(field)
