"""C++ text to a shared library: compiler, flags, and a cache that survives crashes and races.

An entry is a folder named by the hash of everything that determines it. It is written
under a temporary name and renamed, so that readers see all of it or nothing; its
checksum is verified when it is read, and a damaged entry is removed and built anew.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .errors import CacheUnwritable, CompilerFailed, NoCompiler

HERE = Path(__file__).resolve().parent
VERSION = "1"
"""Raised when cached libraries of older versions must not be used."""

_SEARCHED = ("g++", "clang++", "c++")
_MAX_OUTPUT = 4000

FLAGS: Sequence[str] = (
    "-std=c++17",
    "-O2",
    "-shared",
    "-fPIC",
    "-fopenmp",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fvisibility=hidden",
    "-Wno-psabi",
)
"""`-ffast-math` is not among them: NaN, infinities, signed zeros and order of sums are kept."""


@dataclass(frozen=True)
class Recipe:
    """What a target adds to every build: flags of its own, and folders of headers besides this one."""

    flags: tuple[str, ...] = ()
    headers: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        return (HERE, *self.headers)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and what identifies it."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.identity


def find_compiler(environment: Mapping[str, str]) -> Compiler:
    """CXX, then the usual names on PATH; raises NoCompiler."""
    named = shlex.split(environment.get("CXX", ""))
    path = environment.get("PATH")
    candidates = [named] if named else [[name] for name in _SEARCHED]
    for words in candidates:
        found = shutil.which(words[0], path=path)
        if found is not None:
            return _identified((found, *words[1:]), *_stamp(found))
    looked_for = f"CXX={shlex.join(named)}" if named else ", ".join(_SEARCHED) + " on PATH"
    raise NoCompiler(looked_for=looked_for)


def _stamp(path: str) -> tuple[int, int]:
    """What changes when the compiler is replaced."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _identified(command: tuple[str, ...], modified: int, size: int) -> Compiler:
    """The real path and its stamp: asking for `--version` would start the compiler every time."""
    real = os.path.realpath(command[0])
    return Compiler(command, f"{real} {modified} {size} {' '.join(command[1:])}")


@lru_cache(maxsize=8)
def _headers_digest(folders: tuple[Path, ...]) -> bytes:
    digest = hashlib.sha256()
    for folder in folders:
        for header in sorted(folder.glob("*.h")):
            digest.update(header.name.encode() + b"\0" + header.read_bytes())
    return digest.digest()


def cache_key(source: str, compiler: Compiler, flags: Sequence[str], folders: tuple[Path, ...]) -> str:
    """Everything that determines the library."""
    digest = hashlib.sha256(_headers_digest(folders))
    for part in (VERSION, compiler.identity, "\0".join(flags), source):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:40]


def default_cache_dir(environment: Mapping[str, str]) -> Path:
    """TILEWRIGHT_CACHE_DIR, else `tilewright` in XDG_CACHE_HOME, else in ~/.cache."""
    if given := environment.get("TILEWRIGHT_CACHE_DIR"):
        return Path(given)
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tilewright"


def build(
    source: str,
    *,
    recipe: Recipe,
    cache_dir: Path,
    environment: Mapping[str, str],
    openmp: Path | None = None,
) -> Path:
    """The library of `source`, from the cache or compiled; `openmp` is the runtime to link."""
    compiler = find_compiler(environment)
    flags = [*FLAGS, *recipe.flags, *(f"-I{folder}" for folder in recipe.folders)]
    key = cache_key(source, compiler, [*flags, str(openmp or "")], recipe.folders)
    folder = _usable(cache_dir)
    entry = folder / key[:2] / key
    library = entry / "graph.so"
    if is_whole(library):
        return library
    if entry.exists():  # damaged: by a crash, a full disk, or a hand
        shutil.rmtree(entry, ignore_errors=True)
    return _make(source, compiler, flags, entry, openmp)


def is_whole(library: Path) -> bool:
    """True where the library is there with the checksum that it was stored with."""
    try:
        wanted = (library.parent / "checksum").read_text()
        return hashlib.sha256(library.read_bytes()).hexdigest() == wanted
    except OSError:
        return False


@lru_cache(maxsize=64)
def _usable(folder: Path) -> Path:
    """`folder` if it can be written, else a temporary one, with a warning."""
    reason = _unwritable(folder)
    if reason is None:
        return folder
    other = Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}"
    second = _unwritable(other)
    if second is not None:
        raise CacheUnwritable(folder=folder, reason=f"{reason}; {second}")
    warnings.warn(
        f"TW2105: cannot write the compile cache {folder} ({reason}); using {other} instead", stacklevel=2
    )
    return other


def _unwritable(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return str(error)


def _make(source: str, compiler: Compiler, flags: Sequence[str], entry: Path, openmp: Path | None) -> Path:
    """Compile in a temporary folder beside `entry` and rename; the first of several makers wins."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=entry.parent, prefix=".making-"))
    except OSError as error:
        raise CacheUnwritable(folder=entry.parent, reason=str(error)) from error
    try:
        text, library = work / "graph.cpp", work / "graph.so"
        text.write_text(source)
        link = ["-nostdlib", str(openmp), "-lm", "-lc", "-lgcc"] if openmp else []
        run_compiler([*compiler.command, *flags, str(text), "-o", str(library), *link])
        (work / "checksum").write_text(hashlib.sha256(library.read_bytes()).hexdigest())
        try:
            work.rename(entry)
        except OSError:
            if not is_whole(entry / "graph.so"):
                raise
        return entry / "graph.so"
    except OSError as error:
        raise CacheUnwritable(folder=entry.parent, reason=str(error)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run_compiler(command: Sequence[str]) -> None:
    """Raises CompilerFailed with the compiler's output where it does not succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise CompilerFailed(
            compiler=command[0], how="could not be started", output=str(error), advice="check CXX"
        ) from error
    if done.returncode == 0:
        return
    output = (done.stderr or done.stdout or "no output").strip()[:_MAX_OUTPUT]
    killed = done.returncode < 0 or "Killed signal" in output or "terminated" in output
    how, advice = f"failed with status {done.returncode}", "report this with TILEWRIGHT_DUMP=dir"
    if killed:
        name = signal.Signals(-done.returncode).name if done.returncode < 0 else "a signal"
        how, advice = f"was killed by {name}", "free memory (it may have run out), then try again"
    raise CompilerFailed(compiler=command[0], how=how, output=output, advice=advice)
