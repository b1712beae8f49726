"""Compilers that are missing, fail or die; caches that are damaged, shared or read-only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.targets.cpu_openmp.build import recipe
from tilewright.targets.cpu_openmp.isa import Isa, machine_isa, x86_isa
from tilewright.targets.native import build as b
from tilewright.targets.native.errors import CacheUnwritable, CompilerFailed, NoCompiler
from tilewright.targets.native.store import MANIFEST, is_whole

SOURCE = 'extern "C" __attribute__((visibility("default"))) int answer() { return 42; }\n'
CALL = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"


def answer(library: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", CALL, library], capture_output=True, text=True, check=True
    ).stdout.strip()


def build(folder: Path, source: str = SOURCE, **environment: str) -> Path:
    given = {**os.environ, **environment}
    return b.build(source, recipe=recipe(given), cache_dir=folder, environment=given)


def script(folder: Path, text: str) -> str:
    path = folder / "fake-c++"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def leftovers(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.name.startswith(".making")]


def test_builds_once(tmp_path: Path) -> None:
    library = build(tmp_path)
    stamp = library.stat().st_mtime_ns
    assert build(tmp_path) == library
    assert library.stat().st_mtime_ns == stamp
    assert answer(library) == "42"
    assert leftovers(tmp_path) == []


def test_other_source_is_another_entry(tmp_path: Path) -> None:
    assert build(tmp_path) != build(tmp_path, SOURCE + "// more\n")


@pytest.mark.parametrize("damage", ["truncate", "flip", "manifest", "remove"])
def test_damaged_entries_are_built_anew(tmp_path: Path, damage: str) -> None:
    library = build(tmp_path)
    data = bytearray(library.read_bytes())
    if damage == "truncate":
        library.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[len(data) // 2] ^= 0xFF
        library.write_bytes(data)
    elif damage == "manifest":
        (library.parent / MANIFEST).write_text("")
    else:
        library.unlink()
    again = build(tmp_path)
    assert is_whole(again.parent)
    assert answer(again) == "42"


def test_no_compiler_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NoCompiler, match="TW2103") as caught:
        build(tmp_path, PATH=str(tmp_path), CXX="")
    assert "apt install g++" in str(caught.value)
    with pytest.raises(NoCompiler, match="CXX=no-such-compiler"):
        build(tmp_path, CXX="no-such-compiler -v")


def test_rejected_source_shows_the_compilers_words(tmp_path: Path) -> None:
    with pytest.raises(CompilerFailed, match=r"TW2104.*failed with status 1") as caught:
        build(tmp_path, "int f( {\n")
    assert "error:" in str(caught.value)
    assert leftovers(tmp_path) == []


def test_killed_compiler(tmp_path: Path) -> None:
    with pytest.raises(CompilerFailed, match="was killed by SIGKILL"):
        build(tmp_path, CXX=script(tmp_path, "kill -9 $$\n"))
    assert leftovers(tmp_path) == []
    assert answer(build(tmp_path)) == "42"


def test_killed_compiler_proper(tmp_path: Path) -> None:
    words = "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated."
    with pytest.raises(CompilerFailed, match="was killed by a signal"):
        build(tmp_path, CXX=script(tmp_path, f"echo '{words}' >&2\nexit 1\n"))


def test_missing_header_is_no_signal(tmp_path: Path) -> None:
    """g++ says `compilation terminated.` after any fatal error."""
    with pytest.raises(CompilerFailed, match="failed with status 1"):
        build(tmp_path, '#include "no such header"\n')


def test_compiler_that_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CompilerFailed, match="wrote no graph"):
        build(tmp_path, CXX=script(tmp_path, "exit 0\n"))
    assert leftovers(tmp_path) == []


def test_unwritable_cache_falls_back_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match="TW2105"):
        library = build(blocked / "cache")
    assert answer(library) == "42"


def test_no_writable_folder_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    with pytest.raises(CacheUnwritable, match="TW2105"):
        build(blocked / "other")


def test_many_processes_build_the_same(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from tilewright.targets.cpu_openmp.build import build\n"
        "print(build(sys.argv[2], cache_dir=Path(sys.argv[1]), environment=os.environ))"
    )
    command = [sys.executable, "-c", program, str(tmp_path), SOURCE]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    paths = {job.communicate()[0].strip() for job in jobs}
    assert len(paths) == 1
    assert answer(Path(paths.pop())) == "42"
    assert leftovers(tmp_path) == []


def test_instruction_sets_come_from_the_features() -> None:
    v2 = {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"}
    v3 = v2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
    v4 = v3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    wide = x86_isa(frozenset(v4))
    assert (wide.vector_bits, wide.bf16_dot, wide.flags[0]) == (512, False, "-march=x86-64-v4")
    pairs = x86_isa(frozenset(v4 | {"avx512_bf16"}))
    assert pairs.facts == {"vector_bits": 512, "bf16_dot": True}
    assert "-mavx512bf16" in pairs.flags
    assert x86_isa(frozenset(v3 | {"avx512f"})) == Isa(256, False, ("-march=x86-64-v3",))
    assert x86_isa(frozenset(v2)) == Isa(128, False, ("-march=x86-64-v2",))
    assert x86_isa(frozenset()) == Isa(128, False, ())


def test_less_of_the_instruction_set_on_request() -> None:
    full, less = machine_isa({}), machine_isa({"ATEN_CPU_CAPABILITY": "avx2"})
    assert less.vector_bits == min(full.vector_bits, 256)
    assert machine_isa({"ATEN_CPU_CAPABILITY": "default"}).vector_bits == 128
    assert machine_isa({"ATEN_CPU_CAPABILITY": "nonsense"}) == full


def test_cache_folder_from_the_environment() -> None:
    assert b.default_cache_dir({"XDG_CACHE_HOME": "/x"}) == Path("/x/tilewright")
    assert b.default_cache_dir({"TILEWRIGHT_CACHE_DIR": "/t", "XDG_CACHE_HOME": "/x"}) == Path("/t")
