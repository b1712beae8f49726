"""Compilers that are missing, fail or die, caches that are damaged or shared, many threads and processes."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from threads import at_once
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed

from tilewright.frontend.runtime import aten_runtime
from tilewright.targets.native import launch

X = torch.linspace(-2, 2, 24).reshape(4, 6)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has an empty cache, and hears every warning."""
    torch._dynamo.reset()
    aten_runtime.forget_warnings()
    cache = tmp_path / "cache"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    yield cache
    torch._dynamo.reset()


def function(number: float) -> Callable[[Tensor], Tensor]:
    """A function of its own graph, for a cache key of its own."""
    return lambda x: (x * number).exp().sum(0)


def compiled(f: Callable[..., object]) -> Callable[..., object]:
    return torch.compile(f, backend="mlir")


def right(f: Callable[[Tensor], Tensor]) -> None:
    torch.testing.assert_close(compiled(f)(X), f(X))


def script(folder: Path, text: str) -> str:
    path = folder / "fake-c++"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def entries(cache: Path) -> list[Path]:
    """Files of the store, half-written ones included; what reproduces a failure is no part of it."""
    files = [p for p in cache.rglob("*") if p.is_file() or p.name.startswith(".making")]
    return [p for p in files if cache / "repros" not in p.parents]


@pytest.mark.parametrize("variable", ["CXX", "PATH"])
def test_without_a_compiler_aten_runs_the_graph(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/nowhere/c++" if variable == "CXX" else "/nowhere")
    if variable == "PATH":
        monkeypatch.delenv("CXX", raising=False)
    with pytest.warns(aten_runtime.RunsByAten, match="TW2103") as caught:
        right(function(0.5))
    assert "apt install g++" in str(caught[0].message)
    assert caught[0].filename == __file__  # no line of ours
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right(function(0.6))  # said once


def test_training_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.LayerNorm(5))
    with pytest.warns(aten_runtime.RunsByAten):
        compiled(model)(X).sin().sum().backward()  # pyright: ignore
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    model(X).sin().sum().backward()
    torch.testing.assert_close(found, [p.grad for p in model.parameters()])


def test_without_fallback_a_missing_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(BackendCompilerFailed, match="TW2103"):
        torch.compile(function(0.7), backend="mlir", options={"fallback": False})(X)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kill -9 $$", "was killed by SIGKILL"),
        ("echo garbage and nonsense >&2; exit 1", "garbage and nonsense"),
        ("exit 0", "graph.so"),
        ("head -c 100 /dev/zero > out.bin; exit 3", "failed with status 3"),
    ],
)
def test_a_compiler_that_fails(
    text: str, expected: str, tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = compiled(function(0.8))
    with monkeypatch.context() as patch:
        patch.setenv("CXX", script(tmp_path, f"cd {tmp_path}\n{text}\n"))
        with pytest.raises(BackendCompilerFailed, match=r"TW210\d") as caught:
            f(X)
    assert expected in str(caught.value)
    assert entries(fresh) == []
    torch.testing.assert_close(f(X), function(0.8)(X))  # the next call works


@pytest.mark.parametrize("still_starting", [False, True])
def test_an_interrupted_compile(
    still_starting: bool, tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = compiled(function(0.9))
    pid = tmp_path / "pid"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    with monkeypatch.context() as patch:
        patch.setenv("CXX", script(tmp_path, f"echo $$ > {pid}\nexec sleep 60\n"))
        if still_starting:
            start = subprocess.Popen.__init__

            def slowly(*args: Any, **how: Any) -> None:
                start(*args, **how)
                time.sleep(0.5)

            patch.setattr(subprocess.Popen, "__init__", slowly)

        def interrupt() -> None:
            while not (pid.exists() and pid.read_text().strip()):
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            f(X)
        thread.join()
    signal.signal(signal.SIGINT, before)
    assert entries(fresh) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)  # no compiler is left behind
    torch.testing.assert_close(f(X), function(0.9)(X))


def test_an_unwritable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match=r"(?s)TW2105.*\n  why: .*\n  fix: .*is used") as caught:
        right(function(1.1))
    assert [w.filename for w in caught if "TW2105" in str(w.message)] == [__file__]


@pytest.mark.parametrize("damage", ["truncate", "manifest", "library", "empty folder"])
def test_a_damaged_entry_is_built_anew(damage: str, fresh: Path) -> None:
    right(function(1.2))
    (library,) = fresh.rglob("graph.so")
    folder = library.parent
    fresh_copy = folder.with_name("copy")
    shutil.copytree(folder, fresh_copy)  # the loaded library keeps its memory: damage a new file
    shutil.rmtree(folder)
    fresh_copy.rename(folder)
    if damage == "truncate":
        library.write_bytes(library.read_bytes()[:1000])
    elif damage == "manifest":
        (folder / "manifest").write_text("library\n" + "0" * 64 + "  graph.so\n")
    else:
        for path in folder.iterdir():
            if damage == "empty folder" or path == library:
                path.unlink()
    torch._dynamo.reset()
    right(function(1.2))


def test_a_library_that_does_not_load(tmp_path: Path) -> None:
    path = tmp_path / "graph.so"
    path.write_bytes(b"not a library")
    with pytest.raises(launch.LibraryUnloadable, match="TW2106"):
        launch._open(path)  # pyright: ignore[reportPrivateUsage]


def test_threads_compile_and_call_at_once() -> None:
    shared = compiled(function(1.3))

    def work(i: int) -> None:
        torch.testing.assert_close(shared(X), function(1.3)(X))
        for j in range(2):
            right(function(2 + i + j / 10))
        for _ in range(50):
            torch.testing.assert_close(shared(X + i), function(1.3)(X + i))

    at_once(work)


def test_processes_compile_the_same_graph_at_once(tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "f = lambda x: (x * 3).cos().sum(1)\n"
        "x = torch.arange(20.0).reshape(4, 5)\n"
        "torch.testing.assert_close(torch.compile(f, backend='mlir')(x), f(x))\n"
    )
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "shared")}
    file = tmp_path / "program.py"  # Dynamo wants source
    file.write_text(text)
    running = [subprocess.Popen([sys.executable, file], env=environment) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    assert len(list((tmp_path / "shared").rglob("graph.so"))) == 1
    assert not [p for p in (tmp_path / "shared").rglob(".making*")]
